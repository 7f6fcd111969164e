package host

import (
	"context"
	"encoding/json"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/run"
)

// Trace is what one call of a tool asked of the host.
type Trace struct {
	// Calls are in their order, as many as a trace keeps: 4096, with 1 MiB of text.
	Calls []HostCall `json:"calls"`
	// Dropped is how many calls came after those.
	Dropped int `json:"dropped,omitempty"`
	// Kernel is how many calls an Extism plugin made that only move its own bytes.
	Kernel int `json:"kernel_calls,omitempty"`
}

// HostCall is one call of a function of the host. Its texts are one visible line
// each, of at most 256 bytes.
type HostCall struct {
	Door     string `json:"door"`            // wagent, wasi or extism
	Function string `json:"function"`        // such as path_open
	About    string `json:"about,omitempty"` // path, URL, key or the like
	Decision string `json:"decision"`        // allowed or denied
	// Why names the grant or the limit that decided. Empty: every guest may do it.
	Why    string  `json:"why,omitempty"`
	Result string  `json:"result"` // ok, the name of an errno, or what was given
	WallMS float64 `json:"wall_ms"`
}

// Denied reports whether the host refused the call.
func (c *HostCall) Denied() bool { return c.Decision == "denied" }

// TraceOptions say what is watched of a call. Nil and the zero value are usable.
type TraceOptions struct {
	// Watch is told what the tool says, as by [Host.Watch]. Nil: nobody is.
	Watch func(run.Body)
	// Suggest looks for the grants that would let what was denied pass. The guest is
	// shown a root folder in which it may do nothing, so that paths outside of its
	// folders come to the host at all.
	Suggest bool
}

// Trace is [Host.Call], and returns what the tool asked of the host: never nil, and
// empty where the arguments did not fit. The suggestion is empty unless it was
// asked for. The call has a guest of its own, which is initialised in it, and what
// that asks for is in the trace.
func (h *Host) Trace(ctx context.Context, tool string, args json.RawMessage, opts *TraceOptions) (Outcome, *Trace, Suggestion, error) {
	var o TraceOptions
	if opts != nil {
		o = *opts
	}
	rec := &sandbox.Trace{Probe: o.Suggest}
	out, err := h.called(ctx, tool, args, o.Watch, rec)
	t := &Trace{Calls: make([]HostCall, len(rec.Calls)), Dropped: rec.Dropped, Kernel: rec.Kernel}
	for i := range rec.Calls {
		t.Calls[i] = hostCall(&rec.Calls[i])
	}
	var s Suggestion
	if o.Suggest && err == nil && h.box[tool].module != nil {
		s = h.suggest(h.box[tool], rec)
	}
	return out, t, s, err
}

func hostCall(c *sandbox.HostCall) HostCall {
	decision := "allowed"
	if c.Denied {
		decision = "denied"
	}
	return HostCall{
		Door: c.Door, Function: c.Function, About: c.About, Decision: decision, Why: c.Why, Result: c.Result,
		WallMS: float64(c.Duration.Nanoseconds()) / 1e6,
	}
}
