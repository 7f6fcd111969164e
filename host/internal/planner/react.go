package planner

import (
	"errors"
	"strings"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// React is the text form for models without tool calls: Thought, Action, Action
// Input, and at the end Final Answer. A reply is read in time that grows with its
// length alone.
//
// What is read: labels may be numbered ("Action 2:") and emphasised, and stand
// anywhere in a line, though those at its start are believed first. The name of
// the tool is what stands between the two labels, the input all that follows. A
// line that begins with > is a quotation. The text ends where the model begins to
// invent an observation. A reply has an action or an answer and never both; it
// has several actions when each input but the last is one JSON object, so that it
// is plain where it ends.
type React struct {
	// AnyCase takes labels in capitals or small letters, as in "FINAL ANSWER:".
	AnyCase bool
}

// maxActions bounds the actions of one reply.
const maxActions = 64

// maxName bounds the name of a tool, in bytes. A longer one is the name of none.
const maxName = 128

// Plan implements [Planner].
func (p React) Plan(reply *model.Message, tools []model.Definition) ([]run.Action, *run.Finish, error) {
	text := said(reply)
	if len(reply.ToolCalls) > 0 {
		return native(reply, text), nil, nil
	}
	r := reader{text: text, labels: findLabels(text, p.AnyCase), tools: tools}
	actions, done, err := r.read()
	switch {
	case err == nil:
		return actions, done, nil
	case err.Kind == KindNoAction && len(tools) == 0 && !isBlank(text):
		return nil, finish(text, text), nil
	}
	return nil, nil, err
}

// Answer implements [Planner].
func (p React) Answer(reply *model.Message) (*run.Finish, error) {
	text := said(reply)
	if err := noAnswer(reply, text, reactFinalForm); err != nil {
		return nil, err
	}
	labels := findLabels(text, p.AnyCase)
	from := lastFinal(labels)
	answer := ""
	switch {
	case from >= 0:
		r := reader{text: text}
		for _, l := range labels[from+1:] {
			if l.leads {
				r.text = text[:l.start] // what comes behind it is no part of the answer
				break
			}
		}
		answer = r.answer(labels[from])
	case hasAction(labels):
		return nil, parseError(KindNoAnswer, text, reactFinalForm, "No tool can be used any more. Write the line Final Answer: and behind it the answer.")
	default:
		answer = strings.TrimSpace(withoutThought(text, p.AnyCase))
	}
	if answer == "" {
		return nil, parseError(KindNoAnswer, text, reactFinalForm, "The answer was empty. Write it behind Final Answer:.")
	}
	return finish(answer, text), nil
}

// hasAction says that a text without an answer asks for a tool.
func hasAction(labels []label) bool {
	a, i := firstAction(labels)
	return i >= 0 || (a >= 0 && labels[a].leads)
}

func withoutThought(s string, anyCase bool) string {
	s = strings.TrimSpace(s)
	n, ok := word(s, 0, "Thought", anyCase)
	if !ok {
		return s
	}
	if colon, ok := colonAt(s, skipNumber(s, n)); ok {
		return s[colon+1:]
	}
	return s
}

// said is the text of a reply that a planner reads: valid UTF-8, thinking left
// out.
func said(reply *model.Message) string {
	return strings.ToValidUTF8(afterThinking(reply.Text()), "�")
}

// reader reads one reply in the text form.
type reader struct {
	text   string
	labels []label
	tools  []model.Definition

	actions []run.Action
	begun   int // where the text of the action under way begins
	end     int // where what the model wrote itself ends
}

func (r *reader) read() ([]run.Action, *run.Finish, *ParseError) {
	a, i := firstAction(r.labels)
	r.end = len(r.text)
	if i < 0 {
		return r.withoutCall(a)
	}
	for _, l := range r.labels[:i] {
		if l.kind == finalLabel && l.leads {
			return nil, nil, r.both()
		}
	}
	for a >= 0 {
		var err *ParseError
		if a, err = r.action(a, i); err != nil {
			return nil, nil, err
		}
		if a >= 0 {
			if i = inputOf(r.labels, a); i < 0 {
				return nil, nil, r.fail(KindNoInput, noInput)
			}
		}
	}
	return r.actions, nil, nil
}

const noInput = "A line Action: has no line Action Input: behind it. Write both, one after the other; a tool that takes no input has the input {}."

// firstAction returns the first action and its input, or -1 for what is not
// there. Labels at the start of a line go before those inside one.
func firstAction(labels []label) (action, input int) {
	action = -1
	for k, l := range labels {
		if l.kind == actionLabel && l.leads {
			return k, inputOf(labels, k)
		}
	}
	for k, l := range labels {
		switch {
		case l.kind == actionLabel:
			action = k
		case l.kind == inputLabel && action >= 0:
			return action, inputOf(labels, action)
		}
	}
	return action, -1
}

// inputOf returns the input label of an action, or -1.
func inputOf(labels []label, action int) int {
	for k := action + 1; k < len(labels); k++ {
		switch l := labels[k]; {
		case l.kind == inputLabel:
			return k
		case l.leads && (l.kind == actionLabel || l.kind == observationLabel):
			return -1
		}
	}
	return -1
}

// withoutCall reads a reply that has no complete action; a is the label of one
// without input, or -1.
func (r *reader) withoutCall(a int) ([]run.Action, *run.Finish, *ParseError) {
	labels := r.labels
	if a >= 0 {
		for k := a + 1; k < len(labels); k++ {
			if labels[k].kind == observationLabel && labels[k].leads {
				labels = labels[:k] // an answer behind it follows from what was invented
				break
			}
		}
	}
	if f := lastFinal(labels); f >= 0 {
		return nil, finish(r.answer(labels[f]), r.text), nil
	}
	switch {
	case a < 0:
		return nil, nil, r.fail(KindNoAction, "There is neither a line Action: nor a line Final Answer: in it. To use a tool, write the lines Action: and Action Input:; to answer, write the line Final Answer: and the answer behind it.")
	case !hasInput(r.labels):
		return nil, nil, r.fail(KindNoInput, noInput)
	case r.followed(a):
		return nil, nil, r.fail(KindNoInput, noInput)
	}
	return nil, nil, r.fail(KindOrder, "The line Action Input: comes before the line Action:. Write Action: first and Action Input: right behind it.")
}

func hasInput(labels []label) bool {
	for _, l := range labels {
		if l.kind == inputLabel {
			return true
		}
	}
	return false
}

// followed says that an input comes after an action, though it is not its own.
func (r *reader) followed(a int) bool { return hasInput(r.labels[a:]) }

// lastFinal returns the last answer label, those at the start of a line first, or
// -1.
func lastFinal(labels []label) int {
	found := -1
	for k, l := range labels {
		if l.kind == finalLabel && (l.leads || found < 0 || !labels[found].leads) {
			found = k
		}
	}
	return found
}

// answer is what stands behind the label.
func (r *reader) answer(l label) string {
	answer := strings.TrimSpace(r.text[l.end:])
	answer = closeEmphasis(answer, r.text, l)
	if inFence(r.text[:l.start]) {
		answer = strings.TrimSpace(strings.TrimSuffix(answer, "```"))
	}
	return answer
}

// closeEmphasis leaves out the end of emphasis that began before a label.
func closeEmphasis(s, text string, l label) string {
	if l.open == 0 {
		return s
	}
	return strings.TrimSuffix(s, text[l.start:l.start+l.open])
}

// inFence says that a text ends inside a code fence.
func inFence(text string) bool {
	open := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), "```") {
			open = !open
		}
	}
	return open
}

// action reads one action and returns the label of the next, or -1.
func (r *reader) action(a, i int) (next int, err *ParseError) {
	if len(r.actions) == maxActions {
		return -1, r.fail(KindSeveral, "There are too many actions in it. Write one at a time.")
	}
	at := r.labels[i].end
	in := scanInput(r.text[at:])
	next, limit, err := r.limit(i, at, in)
	if err != nil {
		return -1, err
	}
	in.finish(r, at, limit, i, a)
	name := toolName(r.text[r.labels[a].end:r.labels[i].start], r.tools)
	if name == "" {
		return -1, r.fail(KindNoAction, "The line Action: names no tool. Write the name of one tool behind it.")
	}
	args, problem := arguments(find(r.tools, name), in.input)
	if problem != "" {
		return -1, r.fail(KindInput, problem)
	}
	r.actions = append(r.actions, run.Action{Tool: name, Input: args, Log: strings.TrimSpace(r.text[r.begun:limit])})
	r.begun, r.end = limit, limit
	return next, nil
}

// limit returns where the input at i ends, which is at the next action, an
// invented observation, or the end of the text. Labels inside an object are part
// of it.
func (r *reader) limit(i, at int, in scannedInput) (next, limit int, err *ParseError) {
	for k := i + 1; k < len(r.labels); k++ {
		l := r.labels[k]
		if l.start < at+in.length || (!l.leads && in.object == nil) {
			continue
		}
		switch {
		case l.kind == observationLabel && l.leads:
			return -1, l.start, nil
		case l.kind == finalLabel:
			return -1, 0, r.both()
		case l.kind == actionLabel && in.object != nil:
			return k, l.start, nil
		case l.kind == actionLabel || l.kind == inputLabel:
			return -1, 0, r.fail(KindSeveral, "There is more than one action in it, and where the first input ends cannot be told. Write one action and stop; if the lines belong to the input, write the input as one JSON object.")
		}
	}
	return -1, len(r.text), nil
}

func (r *reader) fail(kind ParseKind, problem string) *ParseError {
	return parseError(kind, r.text, reactForm, problem)
}

func (r *reader) both() *ParseError {
	return r.fail(KindBoth, "There is both an action and a final answer in it. Write only the action and wait for its observation, or only the final answer.")
}

// toolName is the name that a model wrote, without quotes or emphasis around it
// unless these belong to it.
func toolName(s string, tools []model.Definition) string {
	s = strings.TrimFunc(s, isSpace)
	if end := strings.IndexFunc(s, breaksLine); end >= 0 {
		s = strings.TrimFunc(s[:end], isSpace)
	}
	if find(tools, s) != nil {
		return s
	}
	return cut(strings.Trim(s, "*`\"' \t"), maxName)
}

// scannedInput is an input as far as it can be told from the text behind its
// label alone.
type scannedInput struct {
	input
	length int // of the object with what is around it; 0: there is none
}

// scanInput reads the object that a text begins with, in a code fence or not.
func scanInput(text string) scannedInput {
	at := skipSpace(text, 0)
	fenced := strings.HasPrefix(text[at:], "```")
	if fenced {
		at = skipFence(text, at)
	}
	s, err := scanJSON(text[at:])
	switch {
	case errors.Is(err, errNoJSON):
		return scannedInput{}
	case err != nil:
		return scannedInput{input: input{fault: err}}
	case text[at] == '[':
		return scannedInput{}
	case !s.closed:
		return scannedInput{input: input{fault: errCut}}
	}
	end := at + s.end
	if fenced {
		if after := skipSpace(text, end); strings.HasPrefix(text[after:], "```") {
			end = after + len("```")
		}
	}
	return scannedInput{input: input{object: s.value}, length: end}
}

// skipFence passes the beginning of a code fence and the word behind it.
func skipFence(text string, at int) int {
	at += len("```")
	at = skip(text, at, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' })
	return skipSpace(text, at)
}

// finish makes the text of the input, which ends at limit.
func (in *scannedInput) finish(r *reader, at, limit, i, a int) {
	if in.object != nil {
		in.rest = r.text[at+in.length : limit]
	}
	text := strings.TrimLeftFunc(r.text[at:limit], isSpace)
	if limit < len(r.text) {
		text = strings.TrimRightFunc(text, isSpace)
	}
	text = strings.TrimRight(text, " ")
	text = closeEmphasis(text, r.text, r.labels[i])
	if bare := strings.TrimRightFunc(text, isSpace); strings.HasSuffix(bare, "\n```") && inFence(r.text[r.begun:r.labels[a].start]) {
		text = strings.TrimSuffix(bare, "\n```")
	}
	in.text = unquote(text)
	if in.object != nil && strings.HasPrefix(strings.TrimLeftFunc(in.rest, isSpace), "```") {
		in.rest = ""
	}
}

// unquote leaves out quotation marks around a text. Marks inside it make it a
// JSON string or leave it as it is: "a" and "b" are two.
func unquote(s string) string {
	if !strings.HasPrefix(s, `"`) {
		return s
	}
	inner := strings.Trim(s, `"`)
	if !strings.Contains(inner, `"`) && !strings.HasSuffix(inner, `\`) {
		return inner
	}
	if out, ok := jsonString(s); ok {
		return out
	}
	return s
}
