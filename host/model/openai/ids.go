package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/wagent-dev/wagent/host/model"
)

const (
	// OpenAI takes 40 bytes; an endpoint's own ids may be longer and go back to
	// it as they came.
	maxForeignID = 40
	maxOwnID     = 512
	shortIDLen   = 9
)

// wireIDs gives each call of a conversation its id on the wire, and checks on
// the way that the conversation is one that endpoints take: after an assistant
// message with calls come exactly their results.
type wireIDs struct {
	profile *profile
	used    map[string]bool
	open    []openCall
}

type openCall struct {
	id, wire string
	derived  bool
	answered bool
}

// calls opens the calls of an assistant message and returns the variant under
// which the message is written.
func (w *wireIDs) calls(m *model.Message) (variant string, err error) {
	w.open = w.open[:0]
	derived := false
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		for _, o := range w.open {
			if o.id == c.ID {
				return "", fmt.Errorf("two calls of one message have the id %q", c.ID)
			}
		}
		o := openCall{id: c.ID}
		o.wire, o.derived = w.choose(c, m.Origin == w.profile.origin)
		derived = derived || o.derived
		w.open = append(w.open, o)
	}
	if !derived {
		return w.profile.variant, nil
	}
	var b strings.Builder
	b.WriteString(w.profile.variant)
	for _, o := range w.open {
		b.WriteByte('|')
		b.WriteString(o.wire)
	}
	return b.String(), nil
}

// result answers an open call.
func (w *wireIDs) result(m *model.Message) (wire, variant string, err error) {
	for i := range w.open {
		o := &w.open[i]
		if o.id != m.CallID {
			continue
		}
		if o.answered {
			return "", "", fmt.Errorf("the call %q has two results", m.CallID)
		}
		o.answered = true
		if o.derived {
			return o.wire, w.profile.variant + "|" + o.wire, nil
		}
		return o.wire, w.profile.variant, nil
	}
	return "", "", fmt.Errorf("the result for call %q does not follow the message with that call", m.CallID)
}

// settled says whether all open calls have their results.
func (w *wireIDs) settled() error {
	for _, o := range w.open {
		if !o.answered {
			return fmt.Errorf("the call %q has no result directly after it", o.id)
		}
	}
	return nil
}

// choose keeps the id that the endpoint gave when it may be used again, and
// derives one from ours when not.
func (w *wireIDs) choose(c *model.ToolCall, ownOrigin bool) (wire string, derived bool) {
	if w.legal(c.WireID, ownOrigin) && !w.used[c.WireID] {
		w.used[c.WireID] = true
		return c.WireID, false
	}
	for n := 0; ; n++ {
		id := derivedID(c.ID, n, w.profile.shortIDs)
		if !w.used[id] {
			w.used[id] = true
			return id, true
		}
	}
}

func (w *wireIDs) legal(id string, ownOrigin bool) bool {
	if w.profile.shortIDs {
		return len(id) == shortIDLen && !strings.ContainsFunc(id, func(r rune) bool { return !isLetter(r) && !isDigit(r) })
	}
	longest := maxForeignID
	if ownOrigin {
		longest = maxOwnID
	}
	return id != "" && len(id) <= longest &&
		!strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' })
}

// derivedID makes an id of ours into one for the wire: always the same one, so
// that the beginning of a conversation stays the same and can be cached. The
// number n tells apart calls for which that gives the same.
func derivedID(id string, n int, short bool) string {
	if n > 0 {
		id += "\x00" + strconv.Itoa(n)
	}
	sum := sha256.Sum256([]byte(id))
	if !short {
		return "call_" + hex.EncodeToString(sum[:12])
	}
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	out := make([]byte, shortIDLen)
	for i := range out {
		out[i] = digits[int(sum[i])%len(digits)]
	}
	return string(out)
}
