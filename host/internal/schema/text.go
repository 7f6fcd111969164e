package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxShown   = 64  // bytes of somebody else's text in a message
	maxListed  = 10  // values or names in a message
	maxListing = 256 // bytes of a list in a message
)

// cut shortens s to n bytes, on a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// show quotes what a model or a tool's author wrote, so that it is one short
// line without control characters.
func show(s string) string { return strconv.Quote(cut(s, maxShown)) }

// list joins items, each of which is short already, and stops at a bound.
func list(items []string) string {
	var b strings.Builder
	for i, item := range items {
		if i == maxListed || b.Len()+len(item) > maxListing {
			fmt.Fprintf(&b, " and %d more", len(items)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(item)
	}
	return b.String()
}

func listQuoted(names []string) string {
	shown := make([]string, 0, maxListed+1)
	for i, name := range names {
		if i > maxListed {
			shown = append(shown, names[i:]...) // only their number is used
			break
		}
		shown = append(shown, show(name))
	}
	return list(shown)
}

// showValue is a value of a schema as JSON, cut short.
func showValue(v any) string {
	switch v := v.(type) {
	case string:
		return show(v)
	case json.Number:
		return cut(v.String(), maxShown)
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case []any:
		return fmt.Sprintf("an array of %d", len(v))
	}
	return "an object"
}

// path leads from the arguments to a value in them. It is a list from the inside
// out, so that going down costs nothing but its last element.
type path struct {
	up    *path
	key   string
	index int // of an array element where key is not used
	item  bool
}

func (p *path) field(key string) *path { return &path{up: p, key: key} }
func (p *path) element(i int) *path    { return &path{up: p, index: i, item: true} }

// maxSteps bounds how much of a long path a message shows: its end is what
// one looks for.
const maxSteps = 12

// String is the path as a person writes it, filters[2].name; "" is the
// arguments themselves.
func (p *path) String() string {
	var steps []*path
	for ; p != nil && len(steps) < maxSteps; p = p.up {
		steps = append(steps, p)
	}
	var b strings.Builder
	if p != nil {
		b.WriteString("…")
	}
	for i := len(steps) - 1; i >= 0; i-- {
		step := steps[i]
		switch {
		case step.item:
			fmt.Fprintf(&b, "[%d]", step.index)
		case plain(step.key):
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step.key)
		default:
			b.WriteString("[" + show(step.key) + "]")
		}
	}
	return b.String()
}

// plain reports whether a key can stand in a dotted path as it is.
func plain(key string) bool {
	if key == "" || len(key) > maxShown {
		return false
	}
	for _, c := range key {
		letter := c == '_' || (c|0x20 >= 'a' && c|0x20 <= 'z' && c < utf8.RuneSelf)
		if !letter && c != '-' && c != '$' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
