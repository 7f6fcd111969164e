package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/visible"
	"github.com/wagent-dev/wagent/sdk/abi"
)

func newTools(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "tools", Short: "List, inspect and call tools"}
	asGroup(cmd)
	cmd.AddCommand(newToolsList(a), newToolsInspect(a), newToolsCall(a))
	addLater(cmd, laterTools())
	return cmd
}

func newToolsList(a *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "list", Short: "List the tools that the model would see, with their limits and grants", Args: noArgs,
	}
	f := addFormat(cmd, "text", "json")
	addFile(cmd, &file)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		infos, err := a.toolsOf(cmd.Context(), file)
		if err != nil {
			return err
		}
		if f.value == "json" {
			return writeJSON(a.out, listed(infos))
		}
		return a.printTools(infos)
	}
	return cmd
}

// toolsOf opens a manifest and returns its tools.
func (a *app) toolsOf(ctx context.Context, file string) ([]host.ToolInfo, error) {
	_, h, err := a.open(ctx, file)
	if err != nil {
		return nil, err
	}
	return h.Tools(), h.Close(ctx)
}

// open reads a manifest and opens a host with it, which the caller closes. Where
// only the host cannot be opened the manifest is there beside the error.
func (a *app) open(ctx context.Context, file string) (*manifest.Manifest, *host.Host, error) {
	m, err := manifest.Load(file, os.LookupEnv)
	if err != nil {
		return nil, nil, missingManifest(file, err)
	}
	scr := a.openScreen(a.out)
	defer scr.close()
	h, err := a.newHost(ctx, m, &opening{scr: scr})
	return m, h, err
}

// listing is a tool as programs read it.
type listing struct {
	Kind string `json:"kind"` // module or agent
	host.ToolInfo
	Parameters json.RawMessage `json:"parameters,omitempty"`
	Agent      *agentListing   `json:"agent,omitempty"`
	Limits     *limitsJSON     `json:"limits,omitempty"` // of a module; the tools of an agent have their own
	Grants     *grantsJSON     `json:"grants,omitempty"` // likewise
}

// agentListing is an agent that is a tool. Its tools are as they are under its entry.
type agentListing struct {
	Manifest  string    `json:"manifest"`
	TimeoutMS int64     `json:"timeout_ms,omitempty"` // 0: none but its own
	Tools     []listing `json:"tools"`
}

func listed(infos []host.ToolInfo) []listing {
	out := make([]listing, len(infos))
	for i, t := range infos {
		out[i] = listing{Kind: "module", ToolInfo: t, Parameters: t.Parameters}
		if t.Agent != nil {
			out[i].Kind = "agent"
			out[i].Agent = &agentListing{t.Agent.Manifest, t.Agent.Timeout.Milliseconds(), listed(t.Agent.Tools)}
			continue
		}
		limits, grants := limitsOf(t.Policy.Limits), grantsOf(t.Policy.Grants)
		out[i].Limits, out[i].Grants = &limits, &grants
	}
	return out
}

func (a *app) printTools(infos []host.ToolInfo) error {
	var b strings.Builder
	if len(infos) == 0 {
		b.WriteString("no tools\n")
	}
	toolsText(&b, infos, a.outStyle(), "")
	_, err := io.WriteString(a.out, b.String())
	return err
}

// toolsText tells a person of tools, those of an agent below it.
func toolsText(b *strings.Builder, infos []host.ToolInfo, st style, indent string) {
	for i, t := range infos {
		if i > 0 {
			b.WriteByte('\n')
		}
		line := func(format string, args ...any) { fmt.Fprintf(b, indent+"  "+format+"\n", args...) }
		fmt.Fprintf(b, "%s%s  %s\n", indent, st.bold(visible.Line(t.Name, maxReason)), st.dim(cmp.Or(t.ABI, "agent")+" "+t.Digest))
		line("%s", visible.Line(flat(t.Description), maxReason))
		if t.Agent != nil {
			agentText(b, t.Agent, st, indent)
			continue
		}
		line("limits: %s", limitsText(t.Policy.Limits))
		line("grants: %s", grantsText(t.Policy.Grants))
		if t.Instances != "" {
			line("instances: %s", t.Instances)
		}
		if t.Isolation != "" {
			line("isolation: %s", t.Isolation)
		}
		if asks := requestsText(t.Requests); asks != "" {
			line("asks for: %s", asks)
		}
	}
}

func agentText(b *strings.Builder, a *host.AgentInfo, st style, indent string) {
	line := func(format string, args ...any) { fmt.Fprintf(b, indent+"  "+format+"\n", args...) }
	line("manifest: %s", visible.Line(a.Manifest, maxReason))
	if a.Timeout > 0 {
		line("limits: timeout %s", durationText(a.Timeout))
	}
	if len(a.Tools) == 0 {
		line("tools: none")
		return
	}
	line("tools:")
	toolsText(b, a.Tools, st, indent+"    ")
}

// requestsText says what a module asks for, which grants nothing.
func requestsText(r *abi.Requests) string {
	if r == nil {
		return ""
	}
	var parts []string
	add := func(what string, values []string) {
		if len(values) > 0 {
			parts = append(parts, what+" "+strings.Join(values, " "))
		}
	}
	add("http", r.HTTP)
	add("read", r.Read)
	add("write", r.Write)
	add("env", r.Env)
	if r.KV {
		parts = append(parts, "kv")
	}
	text := strings.Join(parts, ", ")
	switch {
	case text == "":
		text = r.Reason
	case r.Reason != "":
		text += " (" + r.Reason + ")"
	}
	return visible.Line(flat(text), maxReason)
}

func newToolsInspect(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "inspect MODULE.wasm", Short: "Show what a module is, imports, exports and declares",
		Long: "inspect shows what a module is: one with tools, or one for a role such as parse_error. It runs nothing of it but describe, with no grants.",
		Args: oneArg("MODULE.wasm"),
	}
	f := addFormat(cmd, "text", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		wasm, err := readFile(args[0])
		if err != nil {
			return err
		}
		info, err := a.inspect(cmd.Context(), args[0], wasm)
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		if f.value == "json" {
			return writeJSON(a.out, info)
		}
		_, err = io.WriteString(a.out, inspected(&info, a.outStyle()))
		return err
	}
	return cmd
}

// maxModule bounds a module file, in bytes.
const maxModule = 64 << 20

func readFile(path string) ([]byte, error) {
	// Before it is opened: opening a FIFO would wait for somebody to write.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxModule+1))
	if err == nil && len(data) > maxModule {
		err = fmt.Errorf("%s is larger than %s", path, bytesText(maxModule))
	}
	return data, errors.Join(err, f.Close())
}

// inspected tells a person about a module.
func inspected(m *host.ModuleInfo, st style) string {
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "%s %s\n", st.bold(fmt.Sprintf("%-8s", name)), value) }
	head := func(name string) { fmt.Fprintln(&b, st.bold(name)) }
	line("digest", m.Digest)
	line("size", bytesText(m.Bytes))
	line("abi", m.ABI+" ("+visible.Line(m.Why, maxReason)+")")
	memory := bytesText(m.MemoryMin) + " at least"
	if m.MemoryMax > 0 {
		memory += ", " + bytesText(m.MemoryMax) + " at most"
	}
	if m.MemoryLimit > 0 {
		memory += "; the default limit leaves it " + bytesText(m.MemoryLimit)
	}
	line("memory", memory)
	for _, t := range m.Tables {
		line("table", tableText(&t))
	}
	for _, p := range m.Producers {
		line("made by", visible.Line(p, maxArgs))
	}
	head("imports")
	for _, i := range m.Imports {
		fmt.Fprintf(&b, "  %s.%s %s%s\n", visible.Line(i.Module, maxArgs), visible.Line(i.Name, maxArgs), st.dim(i.Signature), doorText(&i))
	}
	if len(m.Capabilities) > 0 {
		head("capabilities")
	}
	for _, c := range m.Capabilities {
		fmt.Fprintf(&b, "  %-8s %s\n", c.Name, capabilityText(&c))
	}
	if m.Rewritten.NewBytes > 0 {
		head("rewritten")
		b.WriteString(rewritingText(m))
	}
	head("exports")
	for _, e := range m.Exports {
		fmt.Fprintf(&b, "  %s %s %s\n", visible.Line(e.Kind, maxArgs), visible.Line(e.Name, maxArgs), st.dim(e.Signature))
	}
	if len(m.Roles) > 0 {
		head("roles")
		b.WriteString(rolesText(m.Roles))
	}
	if len(m.Roles) == 0 || len(m.Tools) > 0 || m.DescribeErr != "" {
		head("tools")
	}
	for _, t := range m.Tools {
		fmt.Fprintf(&b, "  %s  %s\n", st.bold(visible.Line(t.Name, maxReason)), visible.Line(flat(t.Description), maxReason))
		if len(t.InputSchema) > 0 {
			fmt.Fprintf(&b, "    %s\n", st.dim(visible.Line(compact(t.InputSchema), maxComplaint)))
		}
		if t.Meta != nil {
			if asks := requestsText(t.Meta.Requests); asks != "" {
				fmt.Fprintf(&b, "    asks for: %s\n", asks)
			}
		}
	}
	if m.DescribeErr != "" {
		fmt.Fprintf(&b, "  %s\n", visible.Line(m.DescribeErr, maxReason))
	}
	if len(m.DescribeLogs) > 0 {
		head("logs")
	}
	for _, l := range m.DescribeLogs {
		fmt.Fprintf(&b, "  %s: %s\n", l.Level, visible.Line(l.Message, maxReason))
	}
	return b.String()
}

// completeTools completes --tool with the tools of the manifest.
func (a *app) completeTools(cmd *cobra.Command, file *string) {
	complete(cmd, "tool", func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		infos, err := a.toolsOf(c.Context(), *file)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []cobra.Completion
		for _, t := range infos {
			names = append(names, t.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
}
