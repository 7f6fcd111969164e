package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/wagent-dev/wagent/host/policy"
)

// Error is one fault of a manifest. Its text is one line. It holds of the file
// only short, quoted pieces, and of the environment nothing but what became of a
// path in which a variable stood.
type Error struct {
	Path         string // the file; empty for a manifest made in Go
	Line, Column int    // from 1; 0 where the place is not known
	Field        string // such as tools[0].limits.memory; empty for the whole
	Message      string

	cause error
}

// Error is "file:line:column: field: message", without the parts that are not
// known.
func (e *Error) Error() string {
	parts := make([]string, 0, 3)
	if e.Path != "" {
		parts = append(parts, place(e.Path, e.Line, e.Column))
	}
	if e.Field != "" {
		parts = append(parts, e.Field)
	}
	return strings.Join(append(parts, e.Message), ": ")
}

// Unwrap returns what a layer below said, or nil.
func (e *Error) Unwrap() error { return e.cause }

func place(path string, line, column int) string {
	if line == 0 {
		return path
	}
	return path + ":" + strconv.Itoa(line) + ":" + strconv.Itoa(column)
}

// Warning is something that works and that somebody should know about.
type Warning struct {
	Path         string
	Line, Column int
	Field        string
	Message      string // never a value of the file
}

// String is the warning as an [Error] is written.
func (w Warning) String() string {
	return (&Error{Path: w.Path, Line: w.Line, Column: w.Column, Field: w.Field, Message: w.Message}).Error()
}

type position struct{ line, column int }

// fault is an Error before it is known which file it is in.
type fault struct {
	position
	field   string
	message string
	cause   error
	files   bool // of a file or a folder that is named, not of the text
}

// maxFaults is how many faults are reported.
const maxFaults = 100

// faults collects what is wrong, so that all of it is told at once.
type faults struct {
	all  []fault
	text bool // one of them is of the text
}

func (f *faults) add(one fault) {
	f.text = f.text || !one.files
	if len(f.all) <= maxFaults {
		f.all = append(f.all, one)
	}
}

// join returns the faults in the order of the file, or nil.
func (f *faults) join(path string) error {
	if len(f.all) == 0 {
		return nil
	}
	slices.SortStableFunc(f.all, func(a, b fault) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	errs := make([]error, 0, len(f.all))
	for i, one := range f.all {
		if i == maxFaults {
			one = fault{message: fmt.Sprintf("and more; the first %d faults are shown", maxFaults)}
		}
		errs = append(errs, one.in(path))
	}
	return errors.Join(errs...)
}

func (f fault) in(path string) *Error {
	return &Error{Path: path, Line: f.line, Column: f.column, Field: cut(f.field, 4*maxShown), Message: f.message, cause: f.cause}
}

// origin is where a manifest, or a part of it, came from.
type origin struct {
	path   string
	values map[string]position // of the value of each field
	keys   map[string]position // of its name
	empty  map[string]bool     // fields that are there and hold nothing
}

func (o *origin) at(field string) position {
	if o == nil {
		return position{}
	}
	return o.values[field]
}

func (o *origin) key(field string) (position, bool) {
	if o == nil {
		return position{}, false
	}
	p, ok := o.keys[field]
	return p, ok
}

func (o *origin) file() string {
	if o == nil {
		return ""
	}
	return o.path
}

// At returns where a field, as in tools[0].module, is written, or else what it
// is in: "file:line:column". For a manifest made in Go it is the field itself.
func (m *Manifest) At(field string) string {
	p := m.origin.near(field)
	if p.line == 0 {
		return field
	}
	return place(m.origin.path, p.line, p.column)
}

// Pos returns where the entry of the tool begins: "file:line:column", or "" for
// an entry made in Go.
func (t *Tool) Pos() string {
	p := t.origin.at(t.field)
	if p.line == 0 {
		return ""
	}
	return place(t.origin.path, p.line, p.column)
}

// Fault makes an error about a field, such as agent.exit_conditions[0], an
// [*Error] at its place. An [*Error] stays as it is; nil stays nil.
func (m *Manifest) Fault(field string, err error) error {
	return faultAt(m.origin, field, m.origin.near(field), err)
}

func faultAt(o *origin, field string, p position, err error) error {
	if known := (*Error)(nil); err == nil || errors.As(err, &known) {
		return err
	}
	return fault{position: p, field: field, message: oneLine(err.Error()), cause: err}.in(o.file())
}

// FolderFault makes an error about the folder that the guest sees as guest, an
// [*Error] at its grant. An [*Error] stays as it is; nil stays nil.
func (t *Tool) FolderFault(guest string, err error) error {
	for _, g := range []struct {
		field   string
		folders map[string]string
	}{{"allow.read", t.Allow.Read}, {"allow.write", t.Allow.Write}} {
		for host, at := range g.folders {
			if clean, bad := policy.CleanGuestPath(at); bad == nil && clean == guest {
				field := within(t.field, entry(g.field, host))
				return faultAt(t.origin, field, t.origin.near(field), err)
			}
		}
	}
	return t.Fault(err)
}

// Fault makes an error about the tool's module or agent, or about a tool of it, an
// [*Error] at its entry. An [*Error] stays as it is; nil stays nil.
func (t *Tool) Fault(err error) error {
	file, name := t.Module, "module"
	if t.Agent != "" {
		file, name = t.Agent, "agent"
	}
	field := t.field
	if field == "" {
		field = "tool " + strconv.Quote(cut(filepath.Base(file), maxShown))
	}
	p := t.origin.at(t.field + "." + name)
	if p.line == 0 {
		p = t.origin.at(t.field)
	}
	return faultAt(t.origin, field, p, err)
}

// maxShown is how many bytes of somebody's text a message holds.
const maxShown = 64

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// show quotes what is written in a manifest.
func show(s string) string { return strconv.Quote(cut(s, maxShown)) }

// oneLine makes what a layer below says fit for a terminal.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return '�'
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}

// said is what the YAML library says, as one short line.
func said(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	return cut(oneLine(line), 4*maxShown)
}
