package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/visible"
)

// preview is what a run would send at first, as programs read it.
type preview struct {
	Model string `json:"model,omitempty"`
	host.Preview
}

// dryRun prints what a run would send at first, and calls nothing.
func (a *app) dryRun(h *host.Host, m *manifest.Manifest, in host.Input, format string) error {
	p, err := h.Preview(in)
	if err != nil {
		return err
	}
	if format != "text" {
		return writeJSON(a.out, preview{m.Model.Name, p})
	}
	_, err = io.WriteString(a.out, previewText(&p, a.outStyle()))
	return err
}

// previewText tells a person what would be sent.
func previewText(p *host.Preview, st style) string {
	var b strings.Builder
	for i := range p.Messages {
		msg := &p.Messages[i]
		fmt.Fprintf(&b, "%s\n%s\n", st.bold(string(msg.Role)), indent(partsText(msg.Content)))
	}
	fmt.Fprintln(&b, st.bold("tools"))
	if len(p.Tools) == 0 {
		b.WriteString("  none\n")
	}
	for _, t := range p.Tools {
		fmt.Fprintf(&b, "  %s  %s\n", st.bold(visible.Line(t.Name, maxReason)), visible.Line(flat(t.Description), maxComplaint))
		if len(t.Parameters) > 0 {
			fmt.Fprintf(&b, "    %s\n", st.dim(visible.Line(compact(t.Parameters), maxComplaint)))
		}
	}
	if p.Output != nil {
		fmt.Fprintf(&b, "%s\n  %s\n", st.bold("output"), st.dim(visible.Line(compact(p.Output.Schema), maxComplaint)))
	}
	return b.String()
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}
