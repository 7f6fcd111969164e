package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// maxSteps is how many steps a path may have: what is below each of them is
// scanned again.
const maxSteps = 64

// step is one step into a document.
type step struct {
	kind  stepKind
	name  string // of a member
	index int    // of an item; below zero it counts from the end
}

type stepKind int

const (
	member stepKind = iota // .name or ["name"]
	item                   // [3]
	all                    // * or [*]
)

// path is a path that is being read.
type path struct {
	text string
	at   int
}

// parsePath reads a path: $ or nothing, then names after dots, and items, quoted
// names or * in brackets. The first name needs no dot.
func parsePath(text string) ([]step, error) {
	p := &path{text: text}
	rooted := strings.HasPrefix(text, "$") && (len(text) == 1 || text[1] == '.' || text[1] == '[')
	if rooted {
		p.at = 1
	}
	var steps []step
	for p.at < len(text) {
		s, err := p.step(!rooted && len(steps) == 0)
		if err != nil {
			return nil, err
		}
		if steps = append(steps, s); len(steps) > maxSteps {
			return nil, faultf("input", "the path has more than %d steps", maxSteps)
		}
	}
	return steps, nil
}

func (p *path) step(first bool) (step, error) {
	switch {
	case p.text[p.at] == '[':
		p.at++
		return p.bracket()
	case p.text[p.at] == '.':
		p.at++
	case !first:
		return step{}, p.wrong("want a dot or a bracket")
	}
	rest := p.text[p.at:]
	if i := strings.IndexAny(rest, ".["); i >= 0 {
		rest = rest[:i]
	}
	if rest == "" {
		return step{}, p.wrong("want a name")
	}
	p.at += len(rest)
	if rest == "*" {
		return step{kind: all}, nil
	}
	return step{kind: member, name: rest}, nil
}

// bracket reads what is between brackets, and the closing one.
func (p *path) bracket() (step, error) {
	rest := p.text[p.at:]
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		return p.quoted(rest)
	}
	inner, _, ok := strings.Cut(rest, "]")
	if !ok {
		return step{}, p.wrong("the bracket is not closed")
	}
	s := step{kind: all}
	if inner != "*" {
		n, err := strconv.Atoi(inner)
		if err != nil {
			return step{}, p.wrong(`want the number of an item, * or a name in quotes in the brackets`)
		}
		s = step{kind: item, index: n}
	}
	p.at += len(inner) + 1
	return s, nil
}

// quoted reads a name in quotes, which may hold whatever a JSON string may. In
// single quotes nothing is escaped.
func (p *path) quoted(rest string) (step, error) {
	end := 1
	for end < len(rest) && rest[end] != rest[0] {
		if rest[0] == '"' && rest[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(rest) {
		return step{}, p.wrong("the quotes are not closed")
	}
	name := rest[1:end]
	if rest[0] == '"' {
		if err := json.Unmarshal([]byte(rest[:end+1]), &name); err != nil {
			return step{}, p.wrong("the name in quotes is not a JSON string")
		}
	}
	if end+1 >= len(rest) || rest[end+1] != ']' {
		p.at += end + 1
		return step{}, p.wrong("want ] after the name in quotes")
	}
	p.at += end + 2
	return step{kind: member, name: name}, nil
}

func (p *path) wrong(what string) error {
	return faultf("input", "path: character %d: %s", len([]rune(p.text[:p.at]))+1, what)
}

// String writes a step as it may stand in a path.
func (s step) String() string {
	switch s.kind {
	case item:
		return fmt.Sprintf("[%d]", s.index)
	case all:
		return "[*]"
	}
	return fmt.Sprintf("[%q]", s.name)
}
