// Package agent is the loop: it asks the model, runs the calls it asks for, and
// goes on until there is an answer or a limit. It never sees Wasm; it asks a
// [Toolbox].
//
// The loop is a function of the run's state: [Agent.Run] begins with an event
// and [Agent.Resume] with a folded state, and both drive it the same way. Every
// effect is an event first, and one goroutine, the caller's, appends them all.
package agent

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"time"

	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/internal/schema"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// Agent is what a run needs. It is not changed by runs, and many may use it at
// once.
type Agent struct {
	Model   model.Model
	Planner planner.Planner
	Tools   []Tool // in the order that the model sees; names are unique
	Box     Toolbox
	Store   run.Store

	MaxSteps    int           // 0: no model call is made
	MaxDuration time.Duration // of the whole run; 0: no limit
	Parallel    int           // calls of one step that run at once; at least 1
	Exit        []string      // "text" and names of tools that end the run
	FailOnError bool          // a failed call ends the run
	NoSteps     bool          // the result is without steps
	TrimSteps   int           // steps of the run that the model is shown, the last ones; 0: all
	Generate    bool          // at a limit the model is asked for a last answer, without tools
	OnParse     OnParse
	Output      *Output // nil: the run's output is a text
	SearchOver  int     // with more tools than this the model is shown a search instead; 0: never
	Limits      Limits
	State       map[string]StateKey // the state's keys; what is not in it cannot be written
	Prices      model.Prices
	Up          *Meter // of the run whose call this run is; nil: it is nobody's

	Now    func() time.Time
	Logger *slog.Logger
}

// Tool is a tool as the loop knows it.
type Tool struct {
	Definition model.Definition
	Schema     *schema.Schema // of the arguments that the model gives; nil: anything
	Full       *schema.Schema // of all arguments, those that come from the state included; nil: anything
	// Fit, when not nil, reads the arguments in the place of Schema and returns them as
	// the tool takes them. What its error says is for the model; that for arguments
	// which are nil says how they have to look.
	Fit          func(json.RawMessage) (json.RawMessage, error)
	Reads        []StateRead
	Writes       []StateWrite
	ReturnDirect bool
	Nested       bool   // a call of it is a run of its own, in the same store: see Call.NestedRun
	Polling      bool   // is asked the same again and again by its nature; see Limits.Repeats
	Idempotent   bool   // may be called again when it is not known whether a call took place
	Module       string // digest of the code, for the record
	// Turns names what calls of a step use one after the other, in the model's order.
	// Empty: they run beside all others.
	Turns string
}

// OnParse says what happens when a reply cannot be read. The zero value tells the model
// what was wrong with it.
type OnParse struct {
	Fail bool   // the run ends
	Text string // what the model is told instead; empty: what was wrong
	// Module makes what the model is told of the error and the reply, where lines that look
	// like the planner's form are quoted. It blocks until it has ended or ctx has. On an
	// error the model is told what was wrong. Nil: there is none.
	Module func(ctx context.Context, problem, reply string) (string, error)
}

// Toolbox runs calls. It is the only way from the loop to anything outside.
type Toolbox interface {
	// Call runs one tool and blocks until it has ended: when it returns, nothing
	// of the call runs any more. It returns soon after ctx ends. It is called by
	// several goroutines at once.
	Call(ctx context.Context, c Call) Result
}

// Call is one call of a tool.
type Call struct {
	ID        string // the loop's own, of the step and the position in it
	Tool      string
	Arguments json.RawMessage // valid for the tool's schema
	Run       run.ID
	Step      int
	State     map[string]json.RawMessage // what the tool may ask for of the run's state
	Meter     *Meter                     // of the run, for a call that is a run itself
	NestedRun run.ID                     // that such a call begins; empty: the tool is none

	// Progress and Log pass on what the tool says. They never block.
	Progress func(permille int, message string)
	Log      func(level, message string)
	// Nested passes on an event of the run that the call is, if it is one. It never blocks.
	Nested func(run.Event)
}

// Result is the outcome of a call.
type Result struct {
	Content    []model.Part
	Structured json.RawMessage
	Kind       run.ErrorKind // "": it went well
	Detail     string
	Receipt    *run.Receipt
	Spent      *run.Spent // by a run that the call was; nil: it was none
	NestedRun  run.ID     // of an agent that was called

	found []string // tools that the model is shown from the next step on
}

// exitText is the exit condition that a plain answer meets.
const exitText = "text"

// Run begins a run and drives it to its end. The last item is an event with
// body Finished or Failed, or an error when the store failed. When the caller
// breaks off, what runs is cancelled and joined, its outcome is stored, and the
// run can be resumed.
func (a *Agent) Run(ctx context.Context, id run.ID, p run.Prompted) iter.Seq2[run.Event, error] {
	return func(yield func(run.Event, error) bool) {
		d := newDriver(a, run.State{Run: id}, yield)
		p.Messages = d.opened(p.Messages)
		if d.emit(p) {
			d.drive(ctx)
		}
	}
}

// Resume goes on from s, the folded state of a run. One that has ended is opened again,
// and its limits begin anew.
func (a *Agent) Resume(ctx context.Context, s run.State) iter.Seq2[run.Event, error] {
	return func(yield func(run.Event, error) bool) {
		if !s.Done {
			newDriver(a, s, yield).drive(ctx)
			return
		}
		d := newDriver(a, s, yield)
		if d.emit(run.Resumed{Messages: goOn(s.Messages)}) {
			d = newDriver(a, d.state, yield)
			d.drive(ctx)
		}
	}
}

// goOn is what a conversation goes on with that the model had the last word in.
func goOn(msgs []model.Message) []model.Message {
	if n := len(msgs); n == 0 || msgs[n-1].Role != model.Assistant {
		return nil
	}
	return []model.Message{model.Text(model.User, "Go on from here.")}
}

// fit returns the arguments as the tool takes them, or says to the model why it does
// not.
func (t *Tool) fit(args json.RawMessage) (json.RawMessage, error) {
	switch {
	case t.Fit != nil:
		return t.Fit(args)
	case t.Schema != nil:
		return t.Schema.Fit(args)
	}
	return args, nil
}

// shape is the end of an error about arguments that could not be read at all.
func (t *Tool) shape() string {
	if t.Fit == nil {
		return ""
	}
	if _, err := t.Fit(nil); err != nil {
		return ": " + err.Error()
	}
	return ""
}

// tool returns the tool with this name, or nil. Names are exact: a near miss is
// never taken for a tool.
func (a *Agent) tool(name string) *Tool {
	for i := range a.Tools {
		if a.Tools[i].Definition.Name == name {
			return &a.Tools[i]
		}
	}
	return nil
}
