// Package host makes an agent of a manifest and runs it. Every tool is a
// WebAssembly module under the limits and grants that the manifest gives it;
// there is no other kind.
//
//	h, err := host.Open(ctx, "wagent.yaml", nil)
//	if err != nil {
//		return err
//	}
//	defer h.Close(ctx)
//	for ev, err := range h.Run(ctx, host.Text("What changed in report.txt?")) {
//		if err != nil {
//			return err
//		}
//		fmt.Print(ev.Text())
//	}
package host

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/run"
)

// Host is an agent that is ready to run. It may be used by many goroutines at
// once, and belongs to whoever opened it, who closes it.
type Host struct{}

// Open reads the manifest at path and compiles its modules. A fault of the
// manifest or of a module is an error that says where it is.
func Open(ctx context.Context, path string, opts *Options) (*Host, error) {
	return nil, errors.New("being written")
}

// New makes a host of a manifest.
func New(ctx context.Context, m *manifest.Manifest, opts *Options) (*Host, error) {
	return nil, errors.New("being written")
}

// Close stops what still runs and frees the modules.
func (h *Host) Close(ctx context.Context) error { return nil }

// Run runs the agent and yields what happens. The last item is an event with
// body run.Finished or run.Failed, or, when the run could not be begun or its
// store failed, an error. Breaking out of the loop stops the run.
func (h *Host) Run(ctx context.Context, in Input) iter.Seq2[run.Event, error] {
	return func(func(run.Event, error) bool) {}
}

// Ask runs the agent on one prompt and returns how it ended.
func (h *Host) Ask(ctx context.Context, prompt string) (run.Finished, error) {
	return run.Finished{}, errors.New("being written")
}

// Tools returns the tools that the model sees, in the order of the manifest.
func (h *Host) Tools() []ToolInfo { return nil }

// Call calls one tool once, without a model. The error is for calls that could
// not be made at all; a tool that failed is an Outcome.
func (h *Host) Call(ctx context.Context, tool string, args json.RawMessage) (Outcome, error) {
	return Outcome{}, errors.New("being written")
}

// Inspect looks at a module. It runs nothing of it but describe, with no grants.
func Inspect(ctx context.Context, wasm []byte) (ModuleInfo, error) {
	return ModuleInfo{}, errors.New("being written")
}
