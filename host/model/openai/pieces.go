package openai

import (
	"encoding/json"
	"strings"
)

// piece is one part of a message's content, put together from a stream.
type piece struct {
	thinking bool
	text     strings.Builder
}

func (p *piece) part() json.RawMessage {
	text, _ := marshal(map[string]string{"type": "text", "text": p.text.String()}) // strings always encode
	if !p.thinking {
		return text
	}
	thinking, _ := marshal(map[string]any{"type": "thinking", "thinking": []json.RawMessage{text}})
	return thinking
}

// detail is one block of OpenRouter's reasoning, put together from a stream.
type detail struct {
	object
	grown map[string]*strings.Builder // the members that came in more than one piece
}

// joinDetails puts the pieces of OpenRouter's reasoning together: those that
// follow each other with one type and index are one block. It wants its blocks
// back as they were made, not as they were cut for the stream.
func joinDetails(list []json.RawMessage) []object {
	var blocks []*detail
	for _, raw := range list {
		next, ok := readObject(raw)
		if !ok {
			continue
		}
		if n := len(blocks); n > 0 && blocks[n-1].goesOn(next) {
			blocks[n-1].add(next)
			continue
		}
		blocks = append(blocks, &detail{object: next, grown: make(map[string]*strings.Builder)})
	}
	out := make([]object, len(blocks))
	for i, d := range blocks {
		for key, text := range d.grown {
			d.object[key], _ = marshal(text.String()) // a string always encodes
		}
		out[i] = d.object
	}
	return out
}

// goesOn says that b is more of d; what is encrypted comes in one piece.
func (d *detail) goesOn(b object) bool {
	return d.str("type") == b.str("type") && d.str("index") == b.str("index") && !b.has("data") &&
		(!d.has("id") || !b.has("id") || d.str("id") == b.str("id"))
}

func (d *detail) add(next object) {
	for key, value := range next {
		switch key {
		case "text", "summary":
			if d.grown[key] == nil {
				d.grown[key] = new(strings.Builder)
				d.grown[key].WriteString(d.str(key))
			}
			d.grown[key].WriteString(next.str(key))
		default:
			if present(value) {
				d.object[key] = value
			}
		}
	}
}
