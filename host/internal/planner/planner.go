// Package planner asks a model for what is to be done next and reads its reply.
// A planner decides and never runs a tool.
//
// Three ways of asking are here. [Tools] leaves it to the provider's own tool
// calls. [React] and [JSON] are for models without them: tools are described in
// the system prompt, the model writes its choice as text, and results come back
// as messages of the user.
//
// What a text planner reads is only ever the model's own reply. What tools and
// modules say is shown to the model in a form in which it cannot pass for the
// planner's labels, and it is not read again.
package planner

import (
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// Planner is a way to ask a model for actions. It holds nothing of a run and may
// be used by many at once; none of its methods blocks.
type Planner interface {
	// Prompt returns what the model is sent. It changes nothing of c but its
	// cache.
	Prompt(c *Conversation) Prompt

	// Plan returns the actions that the reply asks for, in its order, or the
	// finish, when it asks for none. A reply that says neither is a
	// [*ParseError]; then there are no actions, not even those that could be
	// read. It must not change the reply.
	//
	// Actions have no CallID unless the reply has it. The input of a tool that is
	// among tools is always one JSON object, or a string when its schema is that
	// of a string. It need not fit the schema.
	Plan(reply *model.Message, tools []model.Definition) ([]run.Action, *run.Finish, error)

	// Answer reads a reply to a prompt with Final: whatever it says is the
	// answer, unless it is empty or asks for a tool once more, which is a
	// [*ParseError].
	Answer(reply *model.Message) (*run.Finish, error)
}

// Conversation is what a prompt is made of. All of it but the cache is read and
// never changed.
type Conversation struct {
	// Messages are those of the run, at most one system message at the front.
	// What came of an action is a message of role tool, in the order of the
	// actions, whether or not the message before has calls. One named
	// [Exception] says what was wrong with the reply before it.
	Messages []model.Message
	Tools    []model.Definition // none: the model is asked for a plain answer
	Final    bool               // no tool may be used any more: ask for the answer
	Cache    *Cache             // may be nil
	// GoOn is what a model is told whose last words ended nothing, in a planner that has
	// the user speak last; empty: the planner's own words.
	GoOn string
}

// Prompt is what the model is sent.
type Prompt struct {
	Messages []model.Message
	Tools    []model.Definition // none when the planner describes them in a message
	// Stop are texts before which the provider shall end the reply. A provider
	// that takes none may leave them out: no planner relies on them.
	Stop []string
}

// Exception is the name of the action that stands for a reply which could not be
// read. It is the name of no tool.
const Exception = "_Exception"

// outputKey is where a finish keeps the answer.
const outputKey = "output"

func finish(output any, log string) *run.Finish {
	return &run.Finish{ReturnValues: map[string]any{outputKey: output}, Log: log}
}

// Tools reads native tool calls: each call is an action, and a reply without
// calls is the answer.
type Tools struct{}

// Prompt implements [Planner]: the conversation is sent as it is.
func (Tools) Prompt(c *Conversation) Prompt {
	if !c.Final {
		return Prompt{Messages: c.Messages, Tools: c.Tools}
	}
	msgs := append(c.Messages[:len(c.Messages):len(c.Messages)], model.Text(model.User, finalNative))
	return Prompt{Messages: msgs}
}

const finalNative = "No tool can be used any more. Give your final answer now, from what is known so far, and say what is missing."

// Plan implements [Planner]. It gives no error.
func (Tools) Plan(reply *model.Message, _ []model.Definition) ([]run.Action, *run.Finish, error) {
	text := reply.Text()
	if len(reply.ToolCalls) == 0 {
		return nil, finish(text, text), nil
	}
	return native(reply, text), nil, nil
}

// native returns the calls of a reply as actions.
func native(reply *model.Message, text string) []run.Action {
	actions := make([]run.Action, len(reply.ToolCalls))
	for i, c := range reply.ToolCalls {
		actions[i] = run.Action{Tool: c.Name, Input: c.Arguments, CallID: c.ID, Log: text}
	}
	return actions
}

// Answer implements [Planner].
func (Tools) Answer(reply *model.Message) (*run.Finish, error) {
	text := reply.Text()
	if err := noAnswer(reply, text, ""); err != nil {
		return nil, err
	}
	return finish(text, text), nil
}

// noAnswer is the error of a reply that is empty or has calls, or nil.
func noAnswer(reply *model.Message, text, form string) error {
	switch {
	case len(reply.ToolCalls) > 0:
		return parseError(KindNoAnswer, text, form, "No tool can be used any more. Write the answer itself.")
	case isBlank(text):
		return parseError(KindNoAnswer, text, form, "The reply was empty. Write the answer itself.")
	}
	return nil
}

// find returns the tool with this name, or nil. Names are exact.
func find(tools []model.Definition, name string) *model.Definition {
	for i := range tools {
		if tools[i].Name == name {
			return &tools[i]
		}
	}
	return nil
}
