package run

import (
	"crypto/rand"
	"encoding/json"
	"strings"
	"time"

	"github.com/wagent-dev/wagent/host/model"
)

// ID names a run. It is made by [NewID] or by the caller, and it never contains
// anything that a model or a guest wrote.
type ID string

// NewID returns a random ID of 26 lower-case letters and digits.
func NewID() ID { return ID(strings.ToLower(rand.Text())) }

// Event is one thing that happened in a run.
type Event struct {
	Run  ID
	Seq  uint64 // from 1, without a gap; 0 for a transient event
	Time time.Time
	Body Body
	// After is the seq of the last stored event before a transient one.
	After uint64
}

// Text returns the answer's text that the event adds, or "". Printing it for
// each event prints the answer as it arrives.
func (e *Event) Text() string {
	if d, ok := e.Body.(Delta); ok {
		return d.Text
	}
	return ""
}

// Transient says that events with this body are shown and not stored.
func (e *Event) Transient() bool {
	switch e.Body.(type) {
	case Delta, CallDelta, Retried, Progressed, Logged, Nested:
		return true
	}
	return false
}

// Body is what happened. The set is closed: the types of this file.
type Body interface{ kind() string }

// Prompted opens a run. Everything that the model is given at the start is in it.
type Prompted struct {
	Agent    string `json:"agent,omitempty"`    // the manifest's name
	Manifest string `json:"manifest,omitempty"` // its digest
	// Parts are the digests of the files that the manifest names, and of those that its
	// agents name: modules and manifests, by their fields. Never changed.
	Parts    map[string]string `json:"parts,omitempty"`
	Messages []model.Message   `json:"messages"`
	Tools    []string          `json:"tools,omitempty"` // names of the tools in force
	// State is what the keys of the run's state have at first.
	State map[string]json.RawMessage `json:"state,omitempty"`
	// Budget is limits in the place of the agent's; nil: there are none.
	Budget *Budget `json:"budget,omitempty"`
}

// Began opens a step: a model call is about to be made.
type Began struct {
	Step int `json:"step"` // from 1
}

// Delta is text as it arrives. Either Text or Reasoning is set.
type Delta struct {
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
}

// CallDelta is a piece of a tool call as the model writes it, for showing only:
// nothing is known of the whole yet. Its strings are the model's, and not fit for a
// terminal. A reply that has more of them than anybody reads is cut.
type CallDelta struct {
	Index     int    `json:"index"`               // position of the call in the reply, from 0
	Name      string `json:"name,omitempty"`      // as known so far; empty: as before
	Arguments string `json:"arguments,omitempty"` // what came in addition
	// Cut says that this is the last piece of the reply which is shown; more came.
	Cut bool `json:"cut,omitempty"`
}

// Retried says that a model call is made again. All deltas since [Began] are void.
type Retried struct {
	Attempt int    `json:"attempt"` // the one that failed, from 1
	WaitMS  int64  `json:"wait_ms"`
	Error   string `json:"error"`
	Model   string `json:"model,omitempty"` // the one that is asked instead; empty: the same again
}

// Replied is the model's complete answer. Without a step it is the last one, which
// was asked for at a limit and cannot call tools.
type Replied struct {
	Step int `json:"step,omitempty"` // from 1; 0: it is of no step
	// Message is absent when nothing of the reply could be sent back.
	Message *model.Message `json:"message,omitempty"`
	Usage   model.Usage    `json:"usage"` // of the step, calls that were made again included
	// ContextTokens is the provider's own count of the last request and its reply.
	ContextTokens int64              `json:"context_tokens"`
	Finish        model.FinishReason `json:"finish_reason,omitempty"`
	Warnings      []string           `json:"warnings,omitempty"`
	// Cost is what Usage costs, in the currency of the prices; 0: there are none.
	Cost float64 `json:"cost,omitempty"`
	// Dropped counts calls that were cut off and are not part of Message.
	Dropped int `json:"dropped_calls,omitempty"`
	// DroppedTools are the tools of those calls as far as they are known, each once on
	// one visible line; a call without a name is (no name).
	DroppedTools []string `json:"dropped_tools,omitempty"`
	// NoSchema says that the endpoint refused the schema of the output, which is asked
	// for in another way from here on.
	NoSchema bool `json:"no_schema,omitempty"`
}

// Planned is what the planner made of the reply: actions, or the end, or
// neither, when the loop goes on with another model call.
type Planned struct {
	Step    int      `json:"step"`
	Actions []Action `json:"actions"`
	Finish  *Finish  `json:"finish,omitempty"`
	// Unreadable says that the reply could not be read. Its one action stands for
	// that, and nothing is run.
	Unreadable bool `json:"unreadable,omitempty"`
	// Outputs are the ids of actions that give the run's output and call no tool.
	Outputs []string `json:"outputs,omitempty"`
	// Structured is the output that Finish gives, where a schema asks for one.
	Structured json.RawMessage `json:"structured,omitempty"`
	// Feedback says why the reply, which has no actions, is not the output that the
	// schema asks for. It becomes a message of the user when the step ends.
	Feedback string `json:"feedback,omitempty"`
}

// Called says that a tool is about to run. A call with Called and without
// [Returned] may or may not have had its effect.
type Called struct {
	Step      int             `json:"step"`
	CallID    string          `json:"call_id"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Module    string          `json:"module,omitempty"` // digest of the code
	// Wave is when the call comes among those of its step: it sees what calls of lower
	// waves wrote to the state. 0: it needs none of them.
	Wave int `json:"wave,omitempty"`
}

// Progressed is how far a running tool says it is.
type Progressed struct {
	CallID   string `json:"call_id"`
	Tool     string `json:"tool"`
	Permille int    `json:"permille"` // 0 to 1000
	Message  string `json:"message,omitempty"`
}

// Logged is a line that a running tool logged.
type Logged struct {
	CallID  string `json:"call_id"`
	Tool    string `json:"tool"`
	Level   string `json:"level"`
	Message string `json:"message"`
}

// Nested is an event of the run of an agent that is called as a tool, while the call
// runs. One that such an agent calls in turn nests again. It is shown and not stored:
// the agent's run has its own events in the same store.
type Nested struct {
	CallID string `json:"call_id"` // of the call, in the run that Nested is an event of
	Tool   string `json:"tool"`
	Event  Event  `json:"event"`
}

// Returned is the outcome of one call, whether it ran or not. In JSON it also has
// "observation", the text of its content.
type Returned struct {
	Step       int             `json:"step"`
	CallID     string          `json:"call_id"`
	Tool       string          `json:"tool"`
	Content    []model.Part    `json:"content"`
	Structured json.RawMessage `json:"structured,omitempty"`
	IsError    bool            `json:"is_error"`
	ErrorKind  ErrorKind       `json:"error_kind,omitempty"`
	Receipt    *Receipt        `json:"receipt,omitempty"` // nil: the call never reached the sandbox
	// Found names tools that the model is shown from the next step on.
	Found []string `json:"found,omitempty"`
	// Detail is for people: the last log lines of a guest that failed.
	Detail string `json:"detail,omitempty"`
	// Limited says that the call was not made because a limit of the run was reached.
	Limited bool `json:"limited,omitempty"`
	// Writes are what the call writes to the run's state, when its step has ended.
	Writes []Write `json:"writes,omitempty"`
	// Spent is what a run that the call began came to; nil: it began none.
	Spent *Spent `json:"spent,omitempty"`
	// NestedRun is the run of an agent that was called; empty: the tool is a module, or
	// the agent did not run.
	NestedRun ID `json:"nested_run,omitempty"`
}

// Spent is what a run has used of its limits, the runs that it began included.
type Spent struct {
	Usage     model.Usage `json:"usage"`
	Cost      float64     `json:"cost,omitempty"` // in the currency of the prices
	ToolCalls int         `json:"tool_calls,omitempty"`
	// WallMS is how long a run took that a call began, in milliseconds; 0: it is not
	// known. A sum has none: runs overlap.
	WallMS float64 `json:"wall_ms,omitempty"`
}

// Resumed opens a run again that had ended. Its limits begin anew.
type Resumed struct {
	// Messages are what the conversation goes on with; often none.
	Messages []model.Message `json:"messages,omitempty"`
}

// Add returns the sum of s and o, without their time.
func (s Spent) Add(o Spent) Spent {
	return Spent{Usage: s.Usage.Add(o.Usage), Cost: s.Cost + o.Cost, ToolCalls: s.ToolCalls + o.ToolCalls}
}

// Hooked says what a hook did of its own accord. In this version it is a part of the
// host that does: the guard against repeated calls.
type Hooked struct {
	Hook string `json:"hook"`
	Step int    `json:"step"` // that it looked at, which has ended
	// Append is what the conversation goes on with.
	Append []model.Message `json:"append,omitempty"`
}

// Ended closes a step. The results of its calls become messages, in call order.
type Ended struct {
	Step int `json:"step"`
}

// Finished ends a run with a reason of its own.
type Finished struct {
	ExitReason ExitReason `json:"exit_reason"`
	Output     string     `json:"output"`
	// Structured is the value that Output is the text of, and fits the schema that
	// asks for one. Absent: no schema does, or the run has no such value.
	Structured json.RawMessage `json:"structured,omitempty"`
	// Partial is the text of a reply that was under way when the run was
	// interrupted or its time was over; empty: none was, or none of it had arrived.
	Partial string `json:"partial,omitempty"`
	// DroppedTools are the tools of calls in that reply, which are not made: as in
	// [Replied].
	DroppedTools []string `json:"dropped_tools,omitempty"`
	// Usage is what attempts at that reply cost which had failed; zero: nothing that is
	// known.
	Usage model.Usage `json:"usage,omitzero"`
	Cost  float64     `json:"cost,omitempty"` // of Usage, in the currency of the prices; 0: there are none
	// Result is what the whole run comes to. It is given with the event and
	// not stored: folding the events makes it.
	Result *Result `json:"result,omitempty"`
}

// Failed ends a run that could not go on.
type Failed struct {
	Err Failure `json:"error"`
	// Usage is what model calls cost that came to nothing; zero: nothing that is known.
	Usage  model.Usage `json:"usage,omitzero"`
	Cost   float64     `json:"cost,omitempty"`   // of Usage, in the currency of the prices; 0: there are none
	Result *Result     `json:"result,omitempty"` // as in Finished
}

func (Prompted) kind() string   { return "run_started" }
func (Began) kind() string      { return "step_started" }
func (CallDelta) kind() string  { return "tool_call_delta" }
func (Retried) kind() string    { return "retry" }
func (Replied) kind() string    { return "model_finished" }
func (Planned) kind() string    { return "actions" }
func (Called) kind() string     { return "tool_started" }
func (Progressed) kind() string { return "tool_progress" }
func (Logged) kind() string     { return "tool_log" }
func (Nested) kind() string     { return "nested" }
func (Returned) kind() string   { return "tool_finished" }
func (Hooked) kind() string     { return "hook_finished" }
func (Resumed) kind() string    { return "run_resumed" }
func (Ended) kind() string      { return "step_finished" }
func (Finished) kind() string   { return "run_finished" }
func (Failed) kind() string     { return "run_failed" }

func (d Delta) kind() string {
	if d.Reasoning != "" {
		return "reasoning_delta"
	}
	return "text_delta"
}
