package agent

import (
	"strings"

	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
)

// Some servers leave a model's thinking in its text, in front of the answer and between
// two marks. It is no part of the answer. Only what is plainly such a block is taken for
// one: it begins the reply, it has an end, and its mark stands alone in its line at one
// of the two. A text that is about the marks stays what it is.

const (
	thinkOpen = "<think>"
	thinkEnd  = "</think>"
	blanks    = " \t\r\n"
	maxBlanks = 1 << 10 // in front of a block or behind its end
)

// parted returns the thinking that a text begins with and what is said behind it. False:
// the text has none, and is all said.
func parted(text string) (thinking, said string, ok bool) {
	trimmed := strings.TrimLeft(text, blanks)
	rest, opened := strings.CutPrefix(trimmed, thinkOpen)
	if !opened || len(text)-len(trimmed) > maxBlanks {
		return "", text, false
	}
	thinking, said, ended := strings.Cut(rest, thinkEnd)
	if !ended || !breaks(rest) && !breaks(said) && strings.Trim(said, " \t") != "" {
		return "", text, false
	}
	return strings.Trim(thinking, blanks), strings.TrimLeft(said, blanks), true
}

// breaks says that a line ends where s begins.
func breaks(s string) bool {
	s = strings.TrimLeft(s, " \t")
	return strings.HasPrefix(s, "\n") || strings.HasPrefix(s, "\r")
}

// readsAll says that the whole text of a reply is the answer: planners of text look for
// it in there, and for thinking, themselves.
func (d *driver) readsAll() bool {
	_, native := d.Planner.(planner.Tools)
	return native
}

// answering is what of a text that broke off is behind the thinking.
func (d *driver) answering(text string) string {
	if d.readsAll() {
		_, text, _ = parted(text)
	}
	return text
}

// partial is what the reply that is under way has said. Not all of it need be shown yet:
// what may be thinking waits for its end.
func (d *driver) partial() string {
	if d.thought.whole.Len() > 0 {
		return d.answering(d.thought.whole.String())
	}
	return d.shown.String()
}

// unthought returns a reply whose thinking is apart from what it says.
func (d *driver) unthought(r *model.Reply) *model.Reply {
	if !d.readsAll() || len(r.Message.Content) == 0 || r.Message.Content[0].Type != model.TextPart {
		return r
	}
	thinking, said, ok := parted(r.Message.Content[0].Text)
	if !ok {
		return r
	}
	out := *r // whose message is the model's
	m := &out.Message
	m.Content = append([]model.Part{}, m.Content[1:]...)
	if said != "" {
		m.Content = append(model.TextParts(said), m.Content...)
	}
	switch {
	case m.Reasoning == "":
		m.Reasoning = thinking
	case thinking != "" && thinking != m.Reasoning:
		m.Reasoning += "\n" + thinking
	}
	return &out
}

// thought parts a text that is under way, for showing only. The whole is parted again
// when it is there. The zero thought is ready.
type thought struct {
	phase phase
	whole strings.Builder // the text so far
	held  string          // what it cannot yet be told of
	lined bool            // the mark at the beginning stands alone in its line
}

type phase uint8

const (
	thoughtOpens phase = iota // nothing has come but what may be the mark
	thoughtRuns               // between the marks
	thoughtEnded              // behind the second one, where the line may end
	thoughtOver               // behind the block and before what is said
	thoughtTold               // all else is said
	thoughtNone               // it was no thinking: the whole is shown when it is there
)

// take returns what a piece adds to the thinking and to what is said.
func (t *thought) take(piece string) (thinking, said string) {
	if t.phase == thoughtTold {
		return "", piece
	}
	t.held += piece
	if t.phase == thoughtOpens {
		if said = t.open(); t.phase != thoughtRuns {
			return "", said
		}
	}
	if t.phase == thoughtRuns {
		thinking = t.run()
	}
	if t.phase == thoughtEnded {
		t.end()
	}
	if t.phase == thoughtOver {
		if said = strings.TrimLeft(t.held, blanks); said != "" {
			t.phase = thoughtTold
		}
		t.held = ""
	}
	if t.phase == thoughtNone {
		t.held = ""
	}
	return thinking, said
}

// open looks for the first mark, with the text behind it up to what is no blank.
func (t *thought) open() (said string) {
	trimmed := strings.TrimLeft(t.held, blanks)
	rest, opened := strings.CutPrefix(trimmed, thinkOpen)
	switch {
	case len(t.held)-len(trimmed) > maxBlanks, !opened && !strings.HasPrefix(thinkOpen, trimmed):
		said, t.held, t.phase = t.held, "", thoughtTold
	case !opened:
	case strings.Trim(rest, " \t") == "" && len(rest) <= maxBlanks: // its line may end next
	default:
		t.held, t.lined, t.phase = rest, breaks(rest), thoughtRuns
	}
	return said
}

// run returns the thinking up to the second mark, or to what may be its beginning.
func (t *thought) run() (thinking string) {
	thinking, rest, ended := strings.Cut(t.held, thinkEnd)
	if ended {
		t.held, t.phase = rest, thoughtEnded
		return thinking
	}
	keep := 0
	for n := min(len(thinkEnd)-1, len(t.held)); n > 0 && keep == 0; n-- {
		if strings.HasSuffix(t.held, thinkEnd[:n]) {
			keep = n
		}
	}
	at := len(t.held) - keep
	thinking, t.held = t.held[:at], t.held[at:]
	return thinking
}

// end looks whether the line ends behind the second mark, where that has to be known.
func (t *thought) end() {
	switch {
	case t.lined || breaks(t.held):
		t.phase = thoughtOver
	case strings.Trim(t.held, " \t") != "" || len(t.held) > maxBlanks:
		t.phase = thoughtNone
	}
}
