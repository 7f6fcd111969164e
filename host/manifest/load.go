package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Load reads the manifest at path. getenv looks up the variables of ${NAME};
// nil is the environment of the process. The error holds every fault that was
// found, joined, each an [*Error]. Where the text is without fault there is none:
// of files and folders that are named and cannot be used, [Manifest.Check] tells,
// and so does whoever opens them.
func Load(path string, getenv func(string) (string, bool)) (*Manifest, error) {
	// Before it is opened: opening a FIFO would wait for somebody to write.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, unreadable(path, errors.New("not a file"))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, unreadable(path, errors.New("not a file"))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	return Parse(data, path, getenv)
}

func unreadable(path string, err error) error {
	if inner := (*os.PathError)(nil); errors.As(err, &inner) {
		return &Error{Path: path, Message: inner.Err.Error(), cause: err}
	}
	return &Error{Path: path, Message: err.Error(), cause: err}
}

// Parse reads a manifest from data. path is the file that faults are reported
// in, and its folder is what the paths of the manifest are relative to.
// Everything else is as with [Load].
func Parse(data []byte, path string, getenv func(string) (string, bool)) (*Manifest, error) {
	if getenv == nil {
		getenv = os.LookupEnv
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, unreadable(path, err)
	}
	sum := sha256.Sum256(data)
	m := &Manifest{Path: path, Dir: dir, Digest: "sha256:" + hex.EncodeToString(sum[:])}
	m.origin = &origin{path: path, values: map[string]position{}, keys: map[string]position{}, empty: map[string]bool{}}
	body, anchors, problem := parse(data)
	if problem != nil {
		return nil, problem.in(path)
	}
	r := &reader{origin: m.origin, getenv: getenv, anchors: anchors, literals: map[string]string{}}
	r.value(body, reflect.ValueOf(m).Elem(), "", "")
	m.settle()
	c := &checker{Manifest: m, faults: &r.faults, known: r.broken()}
	c.manifest()
	if _, ok := m.origin.keys["version"]; !ok {
		c.fail("", `the field "version" is missing: write "version: 1"`)
	}
	if r.text {
		return nil, r.join(path)
	}
	m.warn(r.literals)
	return m, nil
}

// parse returns the one document of a text, and what its aliases refer to.
func parse(data []byte) (body ast.Node, named anchors, problem *fault) {
	defer func() {
		if recover() != nil { // the library's own fault on a text nobody foresaw
			body, named, problem = nil, nil, &fault{message: "the manifest is not valid YAML"}
		}
	}()
	src := strings.TrimPrefix(string(data), "\ufeff")
	switch {
	case len(src) > maxBytes:
		return nil, nil, &fault{message: fmt.Sprintf("a manifest has at most %d KiB", maxBytes>>10)}
	case !utf8.ValidString(src):
		return nil, nil, &fault{position: position{1 + strings.Count(validStart(src), "\n"), 1}, message: "the line is not valid UTF-8"}
	case strings.TrimSpace(src) == "":
		return nil, nil, &fault{position: position{1, 1}, message: `the manifest is empty: begin with "version: 1"`}
	}
	tokens, problem := guard(src)
	if problem != nil {
		return nil, nil, problem
	}
	if body, problem = document(tokens); problem != nil {
		return nil, nil, problem
	}
	named = anchors{}
	ast.Walk(named, body)
	return body, named, nil
}

func document(tokens token.Tokens) (body ast.Node, problem *fault) {
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntaxFault(err)
	}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			return nil, &fault{position: positionOf(doc.Body.GetToken()), message: "a manifest is one YAML document, and here another begins"}
		}
		body = doc.Body
	}
	if body == nil {
		return nil, &fault{position: position{1, 1}, message: `the manifest is empty: begin with "version: 1"`}
	}
	return body, nil
}

// syntaxFault keeps what the library says and where, without the piece of the
// file that it would show.
func syntaxFault(err error) *fault {
	var known yaml.Error
	if !errors.As(err, &known) {
		return &fault{message: "the manifest is not valid YAML"}
	}
	return &fault{position: positionOf(known.GetToken()), message: "not valid YAML: " + said(known.GetMessage())}
}

func validStart(s string) string {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return s[:i]
		}
		i += n
	}
	return s
}

// anchors collects what aliases can refer to.
type anchors map[string]ast.Node

// Visit implements [ast.Visitor].
func (a anchors) Visit(n ast.Node) ast.Visitor {
	if anchor, ok := n.(*ast.AnchorNode); ok && anchor.Name != nil {
		a[anchor.Name.GetToken().Value] = anchor.Value
	}
	return a
}

// settle makes the paths absolute and gives each tool its place.
func (m *Manifest) settle() {
	m.Model.Recording = m.absolute(m.Model.Recording)
	if hook := &m.Agent.OnParseError; hook.Module != "" && !remote(hook.Module) {
		hook.Module = m.absolute(hook.Module)
	}
	for i := range m.Tools {
		t := &m.Tools[i]
		t.origin, t.field = m.origin, "tools["+strconv.Itoa(i)+"]"
		if !remote(t.Module) {
			t.Module = m.absolute(t.Module)
		}
		if !remote(t.Agent) {
			t.Agent = m.absolute(t.Agent)
		}
		t.Allow.Read = m.folders(t.field+".allow.read", t.Allow.Read)
		t.Allow.Write = m.folders(t.field+".allow.write", t.Allow.Write)
	}
}

func (m *Manifest) absolute(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(m.Dir, path)
}

// folders makes the keys of a grant absolute and moves their positions along. Two
// names of one folder would hide each other, so the second keeps its own.
func (m *Manifest) folders(field string, grants map[string]string) map[string]string {
	if grants == nil {
		return nil
	}
	out := make(map[string]string, len(grants))
	for _, host := range sortedKeys(grants) {
		key := m.absolute(host)
		if _, twice := out[key]; twice || host == "" {
			key = host
		}
		out[key] = grants[host]
		m.origin.move(entry(field, host), entry(field, key))
	}
	return out
}

func (o *origin) move(from, to string) {
	if p, ok := o.values[from]; ok {
		o.values[to] = p
	}
	if p, ok := o.keys[from]; ok {
		o.keys[to] = p
	}
}

// remote reports whether a module is named by an address.
func remote(module string) bool {
	scheme, _, ok := strings.Cut(module, "://")
	return ok && !strings.ContainsAny(scheme, `/\`)
}
