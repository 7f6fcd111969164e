// Package planner reads a model's reply and says what is to be done next. A
// planner decides and never runs a tool.
package planner

import (
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// Planner reads replies.
type Planner interface {
	// Plan returns the actions that the reply asks for, in its order, or the
	// finish, when it asks for none. It must not change the reply.
	Plan(reply *model.Message) ([]run.Action, *run.Finish)
}

// Tools reads native tool calls: each call is an action, and a reply without
// calls is the answer.
type Tools struct{}

// Plan implements [Planner].
func (Tools) Plan(reply *model.Message) ([]run.Action, *run.Finish) {
	text := reply.Text()
	if len(reply.ToolCalls) == 0 {
		return nil, &run.Finish{ReturnValues: map[string]any{"output": text}, Log: text}
	}
	actions := make([]run.Action, len(reply.ToolCalls))
	for i, c := range reply.ToolCalls {
		actions[i] = run.Action{Tool: c.Name, Input: c.Arguments, CallID: c.ID, Log: text}
	}
	return actions, nil
}
