package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"strings"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// Match is a line that holds what was looked for.
type Match struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Matches is what search_files answers.
type Matches struct {
	Matches []Match `json:"matches"`
	Files   int     `json:"files" doc:"files that were looked through"`
	rest
}

// Text is one match a line.
func (m Matches) Text() string {
	var b strings.Builder
	for _, one := range m.Matches {
		fmt.Fprintf(&b, "%s:%d: %s\n", one.Path, one.Line, one.Text)
	}
	b.WriteString(m.rest.text("… and more: narrow the pattern"))
	fmt.Fprintf(&b, "%d matches in %d files", len(m.Matches), m.Files)
	return b.String()
}

const (
	// maxShown is how many bytes of a matching line are returned, and before how
	// many of them what was found.
	maxShown, before = 400, 100
	// maxSearched is how many bytes of a line are looked at.
	maxSearched = 1 << 20
	// pause is how many lines lie between two turns of the garbage collector, which
	// gets none by itself in a module that does not wait.
	pause = 1000
)

// search is a search under way.
type search struct {
	Matches
	call  *sdk.Call
	find  finder
	name  string
	limit int
}

func searchFiles(c *sdk.Call, a SearchArgs) (Matches, error) {
	find, err := newFinder(&a)
	if err != nil {
		return Matches{}, err
	}
	if _, err := path.Match(a.Name, ""); err != nil {
		return Matches{}, sdk.Errorf(abi.Input, "name: not a pattern such as *.txt")
	}
	from, err := roots(c, a.Path)
	if err != nil {
		return Matches{}, err
	}
	s := &search{call: c, find: find, name: a.Name, limit: a.Limit}
	s.Matches.Matches = []Match{}
	for _, root := range from {
		err := s.walk(root, 0)
		switch {
		case err == nil:
		case len(from) == 1 && s.Files == 0:
			return Matches{}, err
		default:
			s.passOver(err)
		}
	}
	return s.Matches, nil
}

// walk looks through a file or folder. Its error is of that alone: what is below
// a folder and cannot be read is passed over, and so is a file that is not text.
func (s *search) walk(name string, depth int) error {
	info, err := os.Stat(name)
	if err != nil {
		return explain(name, err)
	}
	if !info.IsDir() {
		return s.file(name)
	}
	entries, failed := os.ReadDir(name)
	for _, e := range entries {
		below := path.Join(name, e.Name())
		var err error
		switch {
		case s.Cut:
			return nil
		case e.IsDir() && depth == maxDeep:
			err = fmt.Errorf("%q: it is more than %d folders deep", below, maxDeep)
		case e.IsDir():
			err = s.walk(below, depth+1)
		case s.fits(e.Name()):
			err = s.file(below)
		}
		switch known, _ := errors.AsType[*abi.Error](err); {
		case err == nil:
		case known != nil && known.Kind == abi.Input:
			s.call.Debugf("passed over %s: %v", below, err) // it is not text
		default:
			s.passOver(err)
		}
	}
	return explain(name, failed)
}

func (s *search) fits(name string) bool {
	ok, err := path.Match(s.name, name)
	return s.name == "" || err == nil && ok
}

func (s *search) file(name string) error {
	in, closer, err := openText(name)
	if err != nil {
		return err
	}
	defer closer()
	s.Files++
	for n := 1; ; n++ {
		line, err := nextLine(in, maxSearched)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return explain(name, err)
		}
		if n%pause == 0 {
			runtime.Gosched()
		}
		at := s.find(line)
		if at < 0 {
			continue
		}
		m := Match{name, n, excerpt(line, at)}
		if len(s.Matches.Matches) == s.limit {
			s.Cut = true
		}
		if !s.room(len(m.Path) + len(m.Text)) {
			return nil
		}
		s.Matches.Matches = append(s.Matches.Matches, m)
	}
}

// excerpt returns what of a line shows what was found at an offset.
func excerpt(line string, at int) string {
	if len(line) <= maxShown {
		return strings.TrimSpace(line)
	}
	from := max(0, min(at-before, len(line)-maxShown))
	text := strings.TrimSpace(strings.ToValidUTF8(line[from:from+maxShown], ""))
	if from > 0 {
		text = "…" + text
	}
	if from+maxShown < len(line) {
		text += "…"
	}
	return text
}
