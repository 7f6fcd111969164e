package run

import (
	"encoding/json"

	"github.com/wagent-dev/wagent/host/model"
)

// Action is a call that the planner decided on.
type Action struct {
	Tool string
	// Input is an object for tools with a schema, or a string.
	Input  json.RawMessage
	CallID string
	// Log is the model's own text that led to the action.
	Log string
}

type actionJSON struct {
	Type   string          `json:"type"`
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"tool_input"`
	CallID string          `json:"call_id,omitempty"`
	Log    string          `json:"log"`
}

// MarshalJSON writes the action with type "AgentAction".
func (a Action) MarshalJSON() ([]byte, error) {
	in := a.Input
	if len(in) == 0 {
		in = json.RawMessage("{}")
	}
	return marshal(actionJSON{"AgentAction", a.Tool, in, a.CallID, a.Log})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (a *Action) UnmarshalJSON(data []byte) error {
	var j actionJSON
	if err := unmarshalTyped(data, &j, &j.Type, "AgentAction"); err != nil {
		return err
	}
	*a = Action{Tool: j.Tool, Input: j.Input, CallID: j.CallID, Log: j.Log}
	return nil
}

// Finish is the planner's decision that the run is over.
type Finish struct {
	ReturnValues map[string]any
	Log          string
}

type finishJSON struct {
	Type         string         `json:"type"`
	ReturnValues map[string]any `json:"return_values"`
	Log          string         `json:"log"`
}

// MarshalJSON writes the finish with type "AgentFinish".
func (f Finish) MarshalJSON() ([]byte, error) {
	return marshal(finishJSON{"AgentFinish", f.ReturnValues, f.Log})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *Finish) UnmarshalJSON(data []byte) error {
	var j finishJSON
	if err := unmarshalTyped(data, &j, &j.Type, "AgentFinish"); err != nil {
		return err
	}
	*f = Finish{ReturnValues: j.ReturnValues, Log: j.Log}
	return nil
}

// Step is one action and what came of it.
type Step struct {
	Number      int       `json:"step"` // of the model call that the action came of, from 1
	Action      Action    `json:"action"`
	Observation string    `json:"observation"`
	IsError     bool      `json:"is_error"`
	ErrorKind   ErrorKind `json:"error_kind,omitempty"`
	Receipt     *Receipt  `json:"receipt,omitempty"`
	NestedRun   ID        `json:"nested_run,omitempty"` // of an agent that was called
	Spent       *Spent    `json:"spent,omitempty"`      // by that run; nil: there was none

	// Content is what the observation is the text of. A step that was read from JSON
	// has none: it is in the messages.
	Content []model.Part `json:"-"`
}

const stepType = "AgentStep"

type stepFields Step

type stepJSON struct {
	Type string `json:"type"`
	stepFields
}

// MarshalJSON writes the step with type "AgentStep".
func (s Step) MarshalJSON() ([]byte, error) { return marshal(stepJSON{stepType, stepFields(s)}) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Step) UnmarshalJSON(data []byte) error {
	var j stepJSON
	if err := unmarshalTyped(data, &j, &j.Type, stepType); err != nil {
		return err
	}
	*s = Step(j.stepFields)
	return nil
}

// Receipt is what a call in the sandbox cost and touched.
type Receipt struct {
	Module          string   `json:"module"`            // "sha256:" and the digest of the code
	WallMS          float64  `json:"wall_ms"`           // the call itself, without compiling or waiting
	Fuel            int64    `json:"fuel,omitempty"`    // work in units that are the same on every machine; 0: it was not counted
	PeakMemoryBytes int64    `json:"peak_memory_bytes"` // linear memory
	InputBytes      int64    `json:"input_bytes"`
	OutputBytes     int64    `json:"output_bytes"`
	Hosts           []string `json:"hosts"` // scheme://host:port that were connected to, sorted
	LogBytes        int64    `json:"log_bytes"`
	LogsCut         bool     `json:"logs_cut,omitempty"`
}

// ErrorKind is why a call gave an error. The set is closed.
type ErrorKind string

// The kinds of failed calls.
const (
	KindUnknownTool   ErrorKind = "unknown_tool"   // there is no tool of that name
	KindParseError    ErrorKind = "parse_error"    // no tool was called: the reply could not be read
	KindInvalidArgs   ErrorKind = "invalid_args"   // not JSON, or against the schema
	KindToolError     ErrorKind = "tool_error"     // the tool's own error
	KindTrap          ErrorKind = "trap"           // the guest broke off
	KindTimeout       ErrorKind = "timeout"        // limits.timeout
	KindFuel          ErrorKind = "fuel"           // limits.fuel
	KindMemory        ErrorKind = "memory"         // limits.memory
	KindStack         ErrorKind = "stack"          // too deep a recursion
	KindOutput        ErrorKind = "output"         // limits.output
	KindHostCalls     ErrorKind = "host_calls"     // too many calls of the host
	KindDenied        ErrorKind = "denied"         // no grant
	KindInvalidResult ErrorKind = "invalid_result" // the answer was not a response
	KindExited        ErrorKind = "exited"         // the guest ended without one
	KindRefused       ErrorKind = "refused"        // a person or a hook said no
	KindCancelled     ErrorKind = "cancelled"      // the run ended first
	KindInternal      ErrorKind = "internal"       // a fault of the host
)

// ExitReason is why a run ended. Besides the constants it may be the name of an
// exit tool, or the reason that a hook gave.
type ExitReason string

// The reasons of the host.
const (
	ExitText          ExitReason = "text"
	ExitReturnDirect  ExitReason = "return_direct"
	ExitMaxSteps      ExitReason = "max_steps"
	ExitMaxDuration   ExitReason = "max_duration"
	ExitParseErrors   ExitReason = "parse_errors" // replies in a row that no planner could read
	ExitLength        ExitReason = "length"
	ExitContentFilter ExitReason = "content_filter"
	ExitInterrupted   ExitReason = "interrupted"

	ExitTokenBudget    ExitReason = "token_budget_exceeded"
	ExitToolCallBudget ExitReason = "tool_call_budget_exceeded"
	ExitCostBudget     ExitReason = "cost_budget_exceeded"
	ExitRepeatedCalls  ExitReason = "repeated_calls" // the same calls with the same results, over and over
	ExitError          ExitReason = "error"
)

// Reserved says that a reason is the host's own, so that no tool of that name can
// be told apart from it. [ExitText] is no name of a tool either.
func (r ExitReason) Reserved() bool {
	switch r {
	case ExitText, ExitReturnDirect, ExitMaxSteps, ExitMaxDuration, ExitParseErrors, ExitLength, ExitContentFilter, ExitInterrupted, ExitError,
		ExitTokenBudget, ExitToolCallBudget, ExitCostBudget, ExitRepeatedCalls:
		return true
	}
	return false
}

// Failure is why a run failed.
type Failure struct {
	Kind    string `json:"kind"`    // a model.ErrorKind, or tool_failed, hook_failed, store, internal
	Message string `json:"message"` // one line
	Tool    string `json:"tool,omitempty"`
	Partial string `json:"partial,omitempty"` // text of a reply that broke off
	// DroppedTools are the tools of calls in a reply that broke off, which are not made:
	// as in [Replied].
	DroppedTools []string `json:"dropped_tools,omitempty"`
}

// The kinds of failure that are not the model's.
const (
	FailTool     = "tool_failed"
	FailStore    = "store"
	FailInternal = "internal"
)

// Result is what a run comes to: what the command prints with -o json.
type Result struct {
	Schema         int                        `json:"schema"` // 1
	RunID          ID                         `json:"run_id"`
	ExitReason     ExitReason                 `json:"exit_reason"`
	Output         string                     `json:"output"`
	Structured     json.RawMessage            `json:"structured,omitempty"` // as in Finished
	Partial        string                     `json:"partial,omitempty"`    // text of a reply that an interruption or the limit of time broke off; that of a failure is in Error
	LastMessage    *model.Message             `json:"last_message,omitempty"`
	Messages       []model.Message            `json:"messages"`
	Steps          []Step                     `json:"steps,omitzero"` // nil: they were not asked for (agent.return_steps)
	StepCount      int                        `json:"step_count"`
	ToolCallCounts map[string]int             `json:"tool_call_counts"`
	TokenUsage     model.Usage                `json:"token_usage"`
	Cost           float64                    `json:"cost,omitempty"` // by the prices of the manifest; 0: there are none
	ContextTokens  int64                      `json:"context_tokens"`
	State          map[string]json.RawMessage `json:"state,omitempty"` // the keys of the state that have a value
	Error          *Failure                   `json:"error,omitempty"`
}

func unmarshalTyped(data []byte, into any, got *string, want string) error {
	if err := json.Unmarshal(data, into); err != nil {
		return err
	}
	if *got != want {
		return &typeError{got: *got, want: want}
	}
	return nil
}

type typeError struct{ got, want string }

func (e *typeError) Error() string { return "type is " + e.got + ", want " + e.want }
