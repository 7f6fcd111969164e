package planner

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/host/run"
)

// ParseError says that a reply could not be read. Nothing of it is run.
type ParseError struct {
	Kind ParseKind
	// Problem says what is wrong and what to do about it, in words for the
	// model. It has at most 2 KiB and shows little of the reply.
	Problem string
	// Raw is the reply, cut to 8 KiB.
	Raw string

	form string // how a right reply looks
}

// ParseKind is what was wrong with a reply. The set is closed.
type ParseKind string

// The kinds of parse errors.
const (
	KindNoAction ParseKind = "no_action" // neither an action nor an answer
	KindNoInput  ParseKind = "no_input"  // an action without its input
	KindOrder    ParseKind = "order"     // the input comes before the action
	KindBoth     ParseKind = "both"      // an action and an answer
	KindSeveral  ParseKind = "several"   // more than one, and where one ends cannot be told
	KindInput    ParseKind = "input"     // what the tool was given is not what it takes
	KindJSON     ParseKind = "json"      // not JSON, or not all of it
	KindShape    ParseKind = "shape"     // JSON with other members than it should have
	KindNoAnswer ParseKind = "no_answer" // asked for the answer, the model gave none
)

const (
	maxProblem = 2 << 10
	maxRaw     = 8 << 10
	maxShown   = 64 // of a name or a value that the model wrote, in bytes
)

// Error implements error. It shows nothing of the reply but what Problem does.
func (e *ParseError) Error() string {
	return "the reply could not be read (" + string(e.Kind) + "): " + e.Problem
}

// Feedback is what the model is sent after the nth reply in a row that could not
// be read, from 1. From the second on it shows the whole form once more.
func (e *ParseError) Feedback(nth int) string {
	said := "Your last reply could not be read, and nothing was done. " + e.Problem
	if nth < 2 || e.form == "" {
		return said
	}
	return fmt.Sprintf("%s\nThis is reply %d in a row that could not be read. Reply in exactly this form and write nothing else:\n%s", said, nth, e.form)
}

// Action returns the action that stands for the reply in the run's record, with
// what the model is sent as its input. It is never run, and its CallID is the
// caller's to give.
func (e *ParseError) Action(feedback string) run.Action {
	return run.Action{Tool: Exception, Input: quote(feedback), Log: e.Raw}
}

func parseError(kind ParseKind, raw, form, problem string) *ParseError {
	return &ParseError{Kind: kind, Problem: cut(problem, maxProblem), Raw: cut(raw, maxRaw), form: form}
}

// cut returns at most limit bytes of s, valid UTF-8, and a mark when that is not
// all of it.
func cut(s string, limit int) string {
	const mark = "…"
	if len(s) > limit {
		end := limit - len(mark)
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + mark
	}
	return strings.ToValidUTF8(s, "�")
}

// shown returns what a model wrote, quoted and short.
func shown(s string) string { return fmt.Sprintf("%+q", cut(s, maxShown)) }

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }
