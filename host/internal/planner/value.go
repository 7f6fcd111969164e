package planner

import (
	"encoding/json"
	"strings"
)

// Value reads the one JSON object that a text holds: alone, in a code fence, or
// with words around it. A line break in a string needs no escape. An object that
// ends too early and a second one are a [*ParseError]: which value is meant cannot
// be told then. It takes time that grows with the length of the text alone.
//
// Words in front of the object are taken here and not by [JSON], since a value has
// no effect, and whoever asks for one holds it to a schema.
func Value(text string) (json.RawMessage, error) {
	text = strings.ToValidUTF8(afterThinking(text), "�")
	at := valueAt(text)
	if at < 0 {
		return nil, parseError(KindNoAnswer, text, "", "There is no JSON object in it.")
	}
	found, err := scanJSON(text[at:])
	switch {
	case err != nil:
		return nil, parseError(KindJSON, text, "", "It is not one JSON object: "+err.Error()+".")
	case !found.closed:
		return nil, parseError(KindJSON, text, "", "It ends before the JSON does. Write all of it; if it is long, write less.")
	case found.value[0] != '{':
		return nil, parseError(KindShape, text, "", "It is a list and not one JSON object.")
	case strings.Contains(text[at+found.end:], "{"):
		return nil, parseError(KindSeveral, text, "", "There is more than one JSON object in it. Write one.")
	}
	return found.value, nil
}

// valueAt is where the value of a text begins: at its start, in its first fence, or
// at its first brace. Below 0: there is none.
func valueAt(text string) int {
	at := skip(text, 0, func(c rune) bool { return isSpace(c) || c == '`' })
	if at < len(text) && (text[at] == '{' || text[at] == '[') {
		return at
	}
	if fence := strings.Index(text, "```"); fence >= 0 {
		if at = skipFence(text, fence); at < len(text) && (text[at] == '{' || text[at] == '[') {
			return at
		}
	}
	return strings.IndexByte(text, '{')
}
