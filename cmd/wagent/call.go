package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/run"
	"github.com/wagent-dev/wagent/host/visible"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// callFlags are the flags of tools call: grants and limits as a manifest has
// them.
type callFlags struct {
	args    string
	http    []string
	read    []string
	write   []string
	env     []string
	config  []string
	memory  manifest.Size
	output  manifest.Size
	timeout time.Duration
	private bool
	tool    manifest.Tool
	format  *format
}

func newToolsCall(a *app) *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use: "call MODULE.wasm NAME", Short: "Call one tool once in the sandbox",
		Long: "call calls one tool of a module once. Its result goes to standard output, and its\n" +
			"receipt (time, memory, bytes, hosts) to standard error. What is not granted by a flag\n" +
			"is denied.",
		Example: "  wagent tools call word_count.wasm word_count --args '{\"text\":\"two words\"}'\n" +
			"  wagent tools call fetch.wasm fetch --allow-http api.github.com --args - < args.json",
		Args: exactlyTwo,
	}
	f.format = addFormat(cmd, "text", "json")
	flags := cmd.Flags()
	flags.StringVar(&f.args, "args", "{}", "the arguments as JSON; - reads them from standard input")
	flags.StringArrayVar(&f.http, "allow-http", nil, "allow requests to [http://]HOST[:PORT], any path, GET and HEAD; METHOD,METHOD HOST for others")
	flags.StringArrayVar(&f.read, "read", nil, "grant HOST:GUEST, a folder to read")
	flags.StringArrayVar(&f.write, "write", nil, "grant HOST:GUEST, a folder to read and write")
	flags.StringArrayVar(&f.env, "env", nil, "grant an environment variable KEY=VALUE")
	flags.StringArrayVar(&f.config, "config", nil, "give the guest a plain value KEY=VALUE")
	flags.BoolVar(&f.private, "private-networks", false, "allow loopback and private addresses where --allow-http names them")
	flags.Var(sizeFlag{&f.memory}, "memory", "limit of linear memory, such as 64MiB")
	flags.Var(sizeFlag{&f.output}, "output-limit", "limit of the result, such as 1MiB")
	flags.DurationVar(&f.timeout, "timeout", 0, "limit of time, such as 5s")
	flags.StringVar(&f.tool.ABI, "abi", "", "auto, wagent, extism or wasi")
	flags.StringVar(&f.tool.Export, "export", "", "plain Extism: the function to call")
	flags.StringVar(&f.tool.Input, "input", "", "plain Extism: json or text")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.call(cmd.Context(), &f, args[0], args[1]) }
	return cmd
}

func exactlyTwo(c *cobra.Command, args []string) error {
	switch {
	case len(args) < 2:
		return fmt.Errorf("MODULE.wasm and NAME are needed: see %q", c.CommandPath()+" --help")
	case len(args) > 2:
		return fmt.Errorf("unexpected argument %q: see %q", args[2], c.CommandPath()+" --help")
	}
	return nil
}

// sizeFlag is a flag with a size as the manifest writes it.
type sizeFlag struct{ *manifest.Size }

func (s sizeFlag) Type() string { return "size" }

func (s sizeFlag) Set(text string) error {
	v, err := manifest.ParseSize(text)
	*s.Size = v
	return err
}

func (s sizeFlag) String() string {
	if s.Size == nil || *s.Size == 0 {
		return ""
	}
	return s.Size.String()
}

func (a *app) call(ctx context.Context, f *callFlags, module, name string) (err error) {
	args, err := a.arguments(f.args)
	if err != nil {
		return err
	}
	tool, err := f.entry(module)
	if err != nil {
		return err
	}
	h, err := a.openTool(ctx, tool, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	out, err := h.Call(ctx, name, args)
	if err != nil {
		return err
	}
	if f.format.value == "json" {
		return a.outcomeJSON(&out)
	}
	return a.outcome(&out, tool, name)
}

func (a *app) arguments(given string) (json.RawMessage, error) {
	if given == "-" {
		text, err := a.prompt("-")
		if err != nil {
			return nil, err
		}
		given = text
	}
	if !json.Valid([]byte(given)) {
		return nil, errors.New("--args is not JSON")
	}
	return json.RawMessage(given), nil
}

// entry is the manifest entry that the flags stand for.
func (f *callFlags) entry(module string) (*manifest.Tool, error) {
	t := f.tool
	var err error
	if t.Module, err = filepath.Abs(module); err != nil {
		return nil, err
	}
	t.Limits = manifest.Limits{Memory: f.memory, Output: f.output, Timeout: manifest.Duration(f.timeout)}
	t.Allow.PrivateNetworks = f.private
	for _, rule := range f.http {
		r := manifest.HTTPRule{Host: rule}
		if methods, host, ok := strings.Cut(rule, " "); ok {
			r = manifest.HTTPRule{Host: strings.TrimSpace(host), Methods: strings.Split(methods, ",")}
		}
		t.Allow.HTTP = append(t.Allow.HTTP, r)
	}
	if t.Allow.Read, err = folderFlags("--read", f.read); err != nil {
		return nil, err
	}
	if t.Allow.Write, err = folderFlags("--write", f.write); err != nil {
		return nil, err
	}
	if t.Allow.Env, err = pairFlags("--env", f.env, "="); err != nil {
		return nil, err
	}
	config, err := pairFlags("--config", f.config, "=")
	for k, v := range config {
		if t.Config == nil {
			t.Config = make(map[string]any)
		}
		t.Config[k] = v
	}
	return &t, err
}

func folderFlags(flag string, given []string) (map[string]string, error) {
	out, err := pairFlags(flag, given, ":")
	if err != nil {
		return nil, err
	}
	abs := make(map[string]string, len(out))
	for host, guest := range out {
		path, err := filepath.Abs(host)
		if err != nil {
			return nil, err
		}
		abs[path] = guest
	}
	return abs, nil
}

func pairFlags(flag string, given []string, sep string) (map[string]string, error) {
	if len(given) == 0 {
		return nil, nil
	}
	out := make(map[string]string, len(given))
	for _, g := range given {
		i := strings.LastIndex(g, sep)
		if sep == "=" {
			i = strings.Index(g, sep)
		}
		if i <= 0 {
			return nil, fmt.Errorf("%s %q: want two parts with %q between", flag, g, sep)
		}
		out[g[:i]] = g[i+1:]
	}
	return out, nil
}

// openTool loads the module. One that declares no tool has the tool it is asked
// for: a program or a plain function takes any name.
func (a *app) openTool(ctx context.Context, t *manifest.Tool, name string) (*host.Host, error) {
	open := func(t manifest.Tool) (*host.Host, error) {
		return host.New(ctx, &manifest.Manifest{Version: 1, Tools: []manifest.Tool{t}}, a.options(a.err))
	}
	if t.Export == "" {
		h, err := open(*t)
		if err == nil {
			return h, nil
		}
		named := *t
		named.Name = name
		h, again := open(named)
		if again != nil {
			return nil, err
		}
		if h.Tools()[0].ABI == "wagent" { // such a module has to describe itself
			return nil, errors.Join(err, h.Close(ctx))
		}
		return h, nil
	}
	named := *t
	named.Name = name
	return open(named)
}

// called is an outcome as programs read it.
type called struct {
	Result    abi.Result    `json:"result"`
	Receipt   run.Receipt   `json:"receipt"`
	IsError   bool          `json:"is_error"`
	ErrorKind run.ErrorKind `json:"error_kind,omitempty"`
	Detail    string        `json:"detail,omitempty"`
}

func (a *app) outcomeJSON(o *host.Outcome) error {
	err := writeJSON(a.out, called{o.Result, o.Receipt, o.Kind != "", o.Kind, o.Detail})
	if err == nil && o.Kind != "" {
		err = &ended{code: exitFailed}
	}
	return err
}

func (a *app) outcome(o *host.Outcome, t *manifest.Tool, name string) error {
	st := a.errStyle()
	if o.Kind == "" {
		if _, err := io.WriteString(a.out, resultText(&o.Result)); err != nil {
			return failed(err)
		}
	}
	for _, l := range detailLines(o.Detail, maxDetail) {
		fmt.Fprintln(a.err, "  "+st.dim(l))
	}
	if o.Receipt.Module != "" {
		fmt.Fprintln(a.err, st.dim(receiptText(&o.Receipt)))
	}
	if o.Kind == "" {
		return nil
	}
	return failed(fmt.Errorf("tool %q: %s", name, callFailure(o, t)))
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
	case run.KindMemory:
		return fmt.Sprintf("stopped at its memory limit of %s (limits.memory, --memory)", bytesText(p.Limits.Memory))
	case run.KindOutput:
		return fmt.Sprintf("stopped at its output limit of %s (limits.output, --output-limit)", bytesText(p.Limits.Output))
	default:
		return string(o.Kind) + ": " + flat(resultText(&o.Result))
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
