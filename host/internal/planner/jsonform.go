package planner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// JSON is the form of one JSON object for each reply, with the members action and
// action_input, for models without tool calls. A reply is read in time that grows
// with its length alone.
//
// What is read: the object may stand alone, with words behind it, or in a code
// fence with words around it; words in front of an object without a fence are
// refused, since models quote what they were shown. Line breaks in strings need
// no escape. A list stands for all the actions in it. What a reply that ends too
// early left open is closed, but a tool is run only when its own input was whole.
type JSON struct{}

// finalAction is the action that ends the run.
const finalAction = "Final Answer"

// Plan implements [Planner].
func (JSON) Plan(reply *model.Message, tools []model.Definition) ([]run.Action, *run.Finish, error) {
	text := said(reply)
	if len(reply.ToolCalls) > 0 {
		return native(reply, text), nil, nil
	}
	actions, done, _, err := readJSON(text, tools)
	if err == nil {
		return actions, done, nil
	}
	if err.Kind == KindJSON && len(tools) == 0 && !isBlank(text) && !looksLikeJSON(text) {
		return nil, finish(text, text), nil
	}
	return nil, nil, err
}

// Answer implements [Planner].
func (JSON) Answer(reply *model.Message) (*run.Finish, error) {
	text := said(reply)
	if err := noAnswer(reply, text, jsonFinalForm); err != nil {
		return nil, err
	}
	_, done, _, err := readJSON(text, nil)
	switch {
	case done != nil:
		return done, nil
	case err != nil && err.Kind == KindJSON && !looksLikeJSON(text):
		text = strings.TrimSpace(text)
		return finish(text, text), nil
	}
	return nil, parseError(KindNoAnswer, text, jsonFinalForm, `No tool can be used any more. Write the object whose action is "Final Answer", with the answer as its action_input.`)
}

func looksLikeJSON(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") || strings.Contains(text, "```")
}

// readJSON reads a reply. What the model wrote itself ends at end.
func readJSON(text string, tools []model.Definition) (actions []run.Action, done *run.Finish, end int, err *ParseError) {
	r := jsonReader{text: text, tools: tools}
	found, err := r.find()
	if err != nil {
		return nil, nil, 0, err
	}
	elements, err := r.elements(found)
	if err != nil {
		return nil, nil, 0, err
	}
	for i, e := range elements {
		log := strings.TrimSpace(text)
		if i > 0 {
			log = string(e)
		}
		a, f, err := r.element(e, log, found)
		if err != nil {
			return nil, nil, 0, err
		}
		if f != nil {
			done = f
			continue
		}
		actions = append(actions, a)
	}
	if done != nil && len(elements) > 1 {
		return nil, nil, 0, r.fail(KindBoth, "There is a final answer in it and something else. Write only the actions and wait for their results, or only the final answer.")
	}
	return actions, done, found.end, nil
}

type jsonReader struct {
	text  string
	tools []model.Definition
}

func (r *jsonReader) fail(kind ParseKind, problem string) *ParseError {
	return parseError(kind, r.text, jsonForm, problem)
}

// find returns the object or list that the reply is.
func (r *jsonReader) find() (scanned, *ParseError) {
	at := skip(r.text, 0, func(c rune) bool { return isSpace(c) || c == '`' })
	if at < len(r.text) && r.text[at] != '{' && r.text[at] != '[' {
		fence := strings.Index(r.text, "```")
		if fence < 0 {
			return scanned{}, r.fail(KindJSON, "It does not begin with a JSON object. Write nothing in front of the object.")
		}
		at = skipFence(r.text, fence)
	}
	s, err := scanJSON(r.text[at:])
	if err != nil {
		return scanned{}, r.fail(KindJSON, "It is not one JSON object: "+err.Error()+".")
	}
	s.end += at
	if several(r.text[s.end:]) {
		return scanned{}, r.fail(KindSeveral, "There is more than one JSON object in it. Write one object, or a list of objects to use several tools at once.")
	}
	if rest := r.text[s.end:]; s.closed && strings.HasPrefix(strings.TrimLeftFunc(rest, isSpace), "```") {
		s.end += strings.Index(rest, "```") + len("```")
	}
	return s, nil
}

// several says that what follows a value holds another one, right behind it or in
// a fence of its own.
func several(rest string) bool {
	if more(strings.TrimLeft(rest, "` \t\r\n")) {
		return true
	}
	for {
		fence := strings.Index(rest, "```")
		if fence < 0 {
			return false
		}
		at := skipFence(rest, fence)
		if at < len(rest) && (rest[at] == '{' || rest[at] == '[') {
			return true
		}
		rest = rest[fence+len("```"):]
	}
}

// elements returns the object, or those of the list.
func (r *jsonReader) elements(found scanned) ([]json.RawMessage, *ParseError) {
	if found.value[0] == '{' {
		return []json.RawMessage{found.value}, nil
	}
	if !found.closed {
		return nil, r.fail(KindJSON, "It ends before the list does.")
	}
	var list []json.RawMessage
	if err := json.Unmarshal(found.value, &list); err != nil {
		return nil, r.fail(KindJSON, "It is not a list of JSON objects: "+err.Error()+".")
	}
	switch {
	case len(list) == 0:
		return nil, r.fail(KindShape, "The list is empty. Write one object.")
	case len(list) > maxActions:
		return nil, r.fail(KindSeveral, fmt.Sprintf("There are more than %d actions in it. Write fewer.", maxActions))
	}
	return list, nil
}

// element reads one object.
func (r *jsonReader) element(object json.RawMessage, log string, found scanned) (run.Action, *run.Finish, *ParseError) {
	m, err := members(object)
	if err != nil {
		return run.Action{}, nil, r.fail(KindShape, "What was written cannot be taken: "+err.Error()+".")
	}
	raw, ok := m["action"]
	if !ok {
		return run.Action{}, nil, r.fail(KindShape, `The object has no member "action".`)
	}
	name, ok := jsonString(string(raw))
	if !ok || raw[0] != '"' {
		return run.Action{}, nil, r.fail(KindShape, `The member "action" must be a string, the name of one tool or "Final Answer".`)
	}
	in, given := m["action_input"]
	if name == finalAction {
		return r.answer(in, given, log)
	}
	if !found.closed && (found.missing > 1 || found.inString || !given) {
		return run.Action{}, nil, r.fail(KindJSON, "It ends before the object does, so the tool was not run. Write the whole object; if it is long, write less.")
	}
	args, perr := r.input(name, in)
	return run.Action{Tool: cut(name, maxName), Input: args, Log: log}, nil, perr
}

// answer makes the finish of an object. Where the reply ended too early the
// answer is as far as it came.
func (r *jsonReader) answer(in json.RawMessage, given bool, log string) (run.Action, *run.Finish, *ParseError) {
	if !given {
		return run.Action{}, nil, r.fail(KindShape, `The final answer has no member "action_input". Write the answer there.`)
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(in))
	dec.UseNumber() // some numbers fit no float
	if err := dec.Decode(&v); err != nil {
		return run.Action{}, nil, r.fail(KindJSON, "The answer cannot be read: "+err.Error()+".")
	}
	return run.Action{}, finish(v, log), nil
}

// input makes a tool's input of the member action_input.
func (r *jsonReader) input(tool string, in json.RawMessage) (json.RawMessage, *ParseError) {
	if len(in) == 0 || string(in) == "null" {
		return json.RawMessage("{}"), nil
	}
	switch in[0] {
	case '{':
		return in, nil
	case '"':
		text, _ := jsonString(string(in))
		given := scanInput(text).input
		given.text = text
		if given.object != nil {
			given.rest = text[scanInput(text).length:]
		}
		args, problem := arguments(find(r.tools, tool), given)
		if problem != "" {
			return nil, r.fail(KindInput, problem)
		}
		return args, nil
	}
	return nil, r.fail(KindShape, `The member "action_input" must be an object or a string.`)
}
