package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/run"
	"github.com/wagent-dev/wagent/host/visible"
)

func newToolsCall(a *app) *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use: "call MODULE.wasm NAME [-]", Short: "Call one tool once in the sandbox",
		Long: "call calls one tool of a module once. Its result goes to standard output, and its\n" +
			"receipt (time, memory, bytes, hosts) to standard error. What is not granted by a flag\n" +
			"is denied.",
		Example: "  wagent tools call word_count.wasm word_count --args '{\"text\":\"two words\"}'\n" +
			"  wagent tools call fetch.wasm fetch --allow-http api.github.com - < args.json",
		Args: moduleAndName,
	}
	f.format = addFormat(cmd, "text", "json")
	flags := cmd.Flags()
	flags.StringVar(&f.args, "args", "{}", "the arguments as JSON; -, here or behind NAME, reads them from standard input")
	flags.StringArrayVar(&f.http, "allow-http", nil, "allow requests to [http://]HOST[:PORT][/PATH], GET and HEAD; METHOD,METHOD HOST for others")
	flags.StringArrayVar(&f.read, "read", nil, "grant HOST:GUEST, a folder to read")
	flags.StringArrayVar(&f.write, "write", nil, "grant HOST:GUEST, a folder to read and write")
	flags.StringArrayVar(&f.env, "env", nil, "grant an environment variable KEY=VALUE")
	flags.StringArrayVar(&f.config, "config", nil, "give the guest a value KEY=VALUE; a number, true, false, null and a \"string\" are read as JSON")
	flags.BoolVar(&f.private, "private-networks", false, "allow loopback and private addresses where --allow-http names them")
	flags.BoolVar(&f.kv, "kv", false, "grant a store for values under keys, empty at first and gone with the call")
	flags.Var(sizeFlag{&f.memory}, "memory", "limit of linear memory, such as 64MiB")
	flags.Var(sizeFlag{&f.output}, "output-limit", "limit of the result, such as 1MiB")
	flags.Var(timeFlag{&f.timeout}, "timeout", "limit of time, such as 5s")
	flags.Var(fuelFlag{&f.fuel}, "fuel", "limit of work, such as 5G, and count it for the receipt")
	flags.BoolVar(&f.trace, "trace", false, "list every call of the host that the tool makes, and what was decided")
	flags.BoolVar(&f.suggest, "suggest", false, "print the smallest grant that would let pass what was denied")
	flags.StringVar(&f.tool.ABI, "abi", "", "auto, wagent, extism or wasi")
	flags.StringVar(&f.tool.Isolation, "isolation", "", "where the guest runs: inprocess or process")
	flags.StringVar(&f.tool.Export, "export", "", "plain Extism: the function to call")
	flags.StringVar(&f.tool.Input, "input", "", "plain Extism: json or text")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 2 {
			f.args = fromInput
		}
		return a.call(cmd.Context(), &f, args[0], args[1])
	}
	return cmd
}

// fromInput says that standard input holds the arguments.
const fromInput = "-"

// moduleAndName wants what is called, and takes the word that its arguments are on
// standard input.
func moduleAndName(c *cobra.Command, args []string) error {
	help := c.CommandPath() + " --help"
	switch {
	case len(args) < 2:
		return fmt.Errorf("MODULE.wasm and NAME are needed: see %q", help)
	case len(args) > 3:
		return fmt.Errorf("unexpected argument %q: see %q", args[3], help)
	case len(args) == 3 && args[2] != fromInput:
		return fmt.Errorf("unexpected argument %q: give the arguments with --args, or - for standard input: see %q", args[2], help)
	case len(args) == 3 && c.Flags().Changed("args"):
		return errors.New("the arguments are given twice: with --args, and by - on standard input")
	}
	return nil
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
	scr := a.openScreen(a.out)
	defer scr.close()
	h, err := a.openTool(ctx, tool, name, &opening{scr, f.trace || f.suggest})
	if err != nil {
		return ofEntry(err, tool)
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	if a.outLost {
		scr.note(scr.style.yellow("wagent: warning: ") + lostOutput)
	}
	out, err := a.watch(ctx, h, scr, f, &asked{name, args})
	scr.close()
	if err != nil {
		return err
	}
	if f.format.value == "json" {
		err = a.outcomeJSON(out)
	} else {
		err = a.outcome(out, tool, name)
	}
	if out.Kind == run.KindCancelled && interrupted(ctx) {
		return &ended{exitInterrupted, errInterrupted}
	}
	return err
}

// watch makes a call under a live line, and shows what the tool says as a run
// does.
func (a *app) watch(ctx context.Context, h *host.Host, scr *screen, f *callFlags, c *asked) (*watched, error) {
	name := c.tool
	v := &textView{scr: scr, style: scr.style, verbose: a.verbose > 0}
	a.logger(scr).Debug("calling", "tool", name)
	scr.begin(name, visible.Line(name, maxLog))
	tell := func(b run.Body) {
		switch b := b.(type) {
		case run.Logged:
			v.logged(b)
		case run.Progressed:
			b.CallID = name // as the live line knows it: there is one call
			v.progressed(b)
		}
	}
	out := &watched{}
	var err error
	if !f.trace && !f.suggest {
		out.Outcome, err = h.Watch(ctx, name, c.args, tell)
		return out, err
	}
	var trace *host.Trace
	var s host.Suggestion
	out.Outcome, trace, s, err = h.Trace(ctx, name, c.args, &host.TraceOptions{Watch: tell, Suggest: f.suggest})
	if f.trace {
		out.trace = trace
	}
	if f.suggest {
		out.suggestion = &s
	}
	return out, err
}

// asked is what is called.
type asked struct {
	tool string
	args json.RawMessage
}

// watched is what came of a call.
type watched struct {
	host.Outcome
	trace      *host.Trace      // nil: it was not asked for
	suggestion *host.Suggestion // the same
}

// ofEntry words the faults of the entry that the flags stand for: there is no
// manifest, so its place in one says nothing.
func ofEntry(err error, t *manifest.Tool) error {
	var all []error
	for _, one := range flatten(err) {
		if e, ok := one.(*manifest.Error); ok && e.Path == "" { //nolint:errorlint // the outermost only
			one = errors.New(withFlag(strings.TrimPrefix(e.Error(), "tools[0]."), t))
		}
		all = append(all, one)
	}
	return errors.Join(all...)
}

func (a *app) arguments(given string) (json.RawMessage, error) {
	if given == fromInput {
		text, err := a.given(given)
		if err != nil {
			return nil, fmt.Errorf("--args: %w", err)
		}
		given = text
	}
	var v any
	if err := json.Unmarshal([]byte(given), &v); err != nil {
		return nil, fmt.Errorf("--args is not JSON: %w", at(given, err))
	}
	return json.RawMessage(given), nil
}

// at adds to an error of JSON its place in text.
func at(text string, err error) error {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return err
	}
	before := text[:max(0, min(int(syntax.Offset)-1, len(text)))]
	if int(syntax.Offset) == len(text) && strings.HasPrefix(syntax.Error(), "unexpected end") {
		before = text // the fault is that there is no more
	}
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}

// openTool loads the module. One that declares no tool has the tool it is asked
// for: a program takes any name, and a plain Extism plugin the name of one of its
// functions. A module of the wagent ABI has to describe itself.
func (a *app) openTool(ctx context.Context, t *manifest.Tool, name string, o *opening) (*host.Host, error) {
	open := func(t manifest.Tool) (*host.Host, error) {
		return a.newHost(ctx, &manifest.Manifest{Version: 1, Tools: []manifest.Tool{t}}, o)
	}
	named := *t
	named.Name = name
	if t.Export != "" {
		return open(named)
	}
	h, err := open(*t)
	if err == nil {
		return h, nil
	}
	function := named
	function.Export = name
	for _, entry := range []manifest.Tool{named, function} {
		h, again := open(entry)
		switch {
		case again != nil:
		case h.Tools()[0].ABI == "wagent":
			return nil, errors.Join(err, h.Close(ctx))
		default:
			return h, nil
		}
	}
	return nil, err
}
