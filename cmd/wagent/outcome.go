package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/run"
	"github.com/wagent-dev/wagent/host/visible"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// called is an outcome as programs read it.
type called struct {
	Result    abi.Result      `json:"result"`
	Receipt   run.Receipt     `json:"receipt"`
	IsError   bool            `json:"is_error"`
	ErrorKind run.ErrorKind   `json:"error_kind,omitempty"`
	Detail    string          `json:"detail,omitempty"`
	Trace     *host.Trace     `json:"trace,omitempty"`
	Suggest   *suggestionJSON `json:"suggestion,omitempty"`
}

func (a *app) outcomeJSON(o *watched) error {
	c := called{Result: o.Result, Receipt: o.Receipt, IsError: o.Kind != "", ErrorKind: o.Kind, Detail: o.Detail, Trace: o.trace}
	if o.suggestion != nil {
		c.Suggest = suggestionOf(o.suggestion)
	}
	err := writeJSON(a.out, c)
	if err == nil && o.Kind != "" {
		err = &ended{code: exitFailed}
	}
	return err
}

func (a *app) outcome(o *watched, t *manifest.Tool, name string) error {
	st := a.errStyle()
	if o.Kind == "" {
		if _, err := io.WriteString(a.out, resultText(&o.Result)); err != nil {
			return err
		}
	}
	for _, l := range detailLines(name, o.Detail, resultText(&o.Result), maxDetail) {
		fmt.Fprintln(a.err, "  "+st.dim(l))
	}
	if o.Receipt.Module != "" {
		fmt.Fprintln(a.err, st.dim(receiptText(&o.Receipt)))
	}
	if o.trace != nil {
		io.WriteString(a.err, traceText(o.trace, st)) //nolint:errcheck // as all that goes to standard error
	}
	if o.suggestion != nil {
		io.WriteString(a.err, suggestionText(o.suggestion, st)) //nolint:errcheck // the same
	}
	if o.Kind == "" {
		return nil
	}
	return failed(fmt.Errorf("tool %q: %s", name, callFailure(&o.Outcome, t)))
}

// callFailure says why a call failed, and which limit it was.
func callFailure(o *host.Outcome, t *manifest.Tool) string {
	p, err := t.Policy()
	if err != nil {
		return err.Error()
	}
	switch o.Kind {
	case run.KindTimeout:
		return fmt.Sprintf("stopped after its %s timeout (limits.timeout, --timeout)", durationText(p.Limits.Timeout))
	case run.KindFuel:
		return fmt.Sprintf("stopped at its limit of %d units of work (limits.fuel, --fuel)", p.Limits.Fuel)
	case run.KindMemory:
		return fmt.Sprintf("stopped at its memory limit of %s (limits.memory, --memory): it had %s and asked for more than was left",
			bytesText(p.Limits.Memory), bytesText(o.Receipt.PeakMemoryBytes))
	case run.KindOutput:
		return fmt.Sprintf("stopped at its output limit of %s (limits.output, --output-limit)", bytesText(p.Limits.Output))
	default:
		return withFlag(string(o.Kind)+": "+flat(resultText(&o.Result)), t)
	}
}

// resultText is a result as a person reads it.
func resultText(r *abi.Result) string {
	var b strings.Builder
	for _, c := range r.Content {
		switch {
		case c.Type == "text":
			b.WriteString(visible.Text(c.Text))
		case c.Resource != nil && c.Resource.Text != "":
			b.WriteString(visible.Text(c.Resource.Text))
		case c.Resource != nil:
			fmt.Fprintf(&b, "[%s, %s]", visible.Line(c.Resource.URI, maxReason), bytesText(int64(len(c.Resource.Blob))))
		default:
			fmt.Fprintf(&b, "[%s, %s]", visible.Line(c.MIMEType, maxReason), bytesText(int64(len(c.Data))))
		}
		if s := b.String(); s != "" && !strings.HasSuffix(s, "\n") {
			b.WriteByte('\n')
		}
	}
	if len(r.Content) == 0 && len(r.StructuredContent) > 0 {
		b.WriteString(visible.Text(string(r.StructuredContent)) + "\n")
	}
	return b.String()
}
