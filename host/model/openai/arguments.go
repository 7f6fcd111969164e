package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/host/model"
)

const (
	maxRawArguments = 2 << 10
	excerptLen      = 40
)

// arguments is what became of the arguments of a call.
type arguments struct {
	object   json.RawMessage // one JSON object, when invalid is nil
	strict   bool            // it was one as it came
	cut      bool            // it ends in the middle
	repaired string          // what was done to read it; empty: nothing
	invalid  *model.InvalidArgs
}

// readArguments reads what a model wrote as arguments. Nothing stands for no
// arguments. Two repairs are made, since they cannot change what is meant: a
// fence around the whole is taken off, and prose after the object is left out.
// Whatever else is not one JSON object is given back to the model.
func readArguments(raw string) arguments {
	raw = strings.ToValidUTF8(raw, "\uFFFD")
	text := strings.TrimSpace(raw)
	if text == "" || text == "null" {
		return arguments{object: json.RawMessage("{}")}
	}
	if text[0] == '{' && json.Valid([]byte(text)) {
		return arguments{object: json.RawMessage(text), strict: true}
	}
	rest, err := firstObject(text)
	if err == nil && rest == "" {
		return arguments{object: json.RawMessage(text), strict: true}
	}
	if inner, ok := unfence(text); ok {
		if after, err := firstObject(inner); err == nil && after == "" {
			return arguments{object: json.RawMessage(inner), repaired: "a code fence around them was taken off"}
		}
	}
	if err == nil && isProse(rest) {
		object := strings.TrimSpace(strings.TrimSuffix(text, rest))
		return arguments{object: json.RawMessage(object), repaired: "text after the object was left out"}
	}
	return arguments{
		object:  json.RawMessage("{}"),
		cut:     errors.Is(err, io.ErrUnexpectedEOF),
		invalid: &model.InvalidArgs{Raw: truncate(raw, maxRawArguments), Problem: problem(text, rest, err)},
	}
}

// firstObject checks that text begins with a JSON object and returns what
// stands after it, without space around it.
func firstObject(text string) (rest string, err error) {
	if !strings.HasPrefix(text, "{") {
		return "", errNoObject
	}
	dec := json.NewDecoder(strings.NewReader(text))
	var object json.RawMessage
	if err := dec.Decode(&object); err != nil {
		return "", err
	}
	return strings.TrimSpace(text[dec.InputOffset():]), nil
}

var errNoObject = errors.New("it does not begin with {")

// unfence takes off one fence that is around all of text.
func unfence(text string) (string, bool) {
	inner, ok := strings.CutPrefix(text, "```")
	if !ok {
		return "", false
	}
	inner, ok = strings.CutSuffix(inner, "```")
	if !ok {
		return "", false
	}
	inner = strings.TrimLeft(inner, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
	return strings.TrimSpace(inner), true
}

// isProse says that text can be nothing a call needs: a second object or a
// rest of the first would show a bracket or a quote.
func isProse(text string) bool { return !strings.ContainsAny(text, "{}[]\"`<>") }

// problem says on one line why text is not one object, for the model to mend.
func problem(text, rest string, err error) string {
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		at := len(text) - len(rest)
		return fmt.Sprintf("more than one JSON object: unexpected text at byte %d near %q", at, excerpt(text, at))
	case errors.Is(err, errNoObject):
		return fmt.Sprintf("not a JSON object: it must begin with {, but begins with %q", excerpt(text, 0))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("not a JSON object: it ends too early, at byte %d after %q; if it was too long for one reply, send less in it", len(text), excerpt(text, max(0, len(text)-excerptLen)))
	case errors.As(err, &syntax):
		at := max(int(syntax.Offset)-1, 0)
		return fmt.Sprintf("not a JSON object: %v at byte %d near %q", syntax, at, excerpt(text, at))
	}
	return fmt.Sprintf("not a JSON object: %v", err)
}

func excerpt(text string, at int) string {
	at = min(at, len(text))
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return truncate(text[at:], excerptLen)
}
