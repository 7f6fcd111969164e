package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
	"github.com/wagent-dev/wagent/host/visible"
)

// maxGiven bounds what is read of standard input, in bytes.
const maxGiven = 16 << 20

// What a manifest allows for the fields of these flags.
const (
	maxSteps    = 100_000
	maxDuration = 30 * 24 * time.Hour
)

// runFlags are the flags of run.
type runFlags struct {
	file        string
	format      *format
	model       string
	baseURL     string
	planner     string
	system      string
	maxSteps    int
	maxDuration time.Duration
	tools       []string
	state       []string
	attach      []string
	dryRun      bool
}

func newRun(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run PROMPT|-",
		Short: "Run the agent of a manifest on one prompt",
		Long: "run runs the agent of a manifest on one prompt; with - the prompt is read from\n" +
			"standard input. The answer goes to standard output; tool calls, their receipts and\n" +
			"errors go to standard error.",
		Example: "  wagent run \"What changed in report.txt?\"\n  git diff | wagent run -o json -",
		Args:    onePrompt,
	}
	f.format = addFormat(cmd, "text", "json", "jsonl")
	flags := cmd.Flags()
	addFile(cmd, &f.file)
	flags.StringVar(&f.model, "model", "", "name of the model, instead of the manifest's")
	flags.StringVar(&f.baseURL, "base-url", "", "endpoint of the model, instead of the manifest's")
	flags.StringVar(&f.system, "system", "", "system prompt, instead of the manifest's")
	flags.StringVar(&f.planner, "planner", "", "tools, react or json, instead of the manifest's")
	flags.IntVar(&f.maxSteps, "max-steps", 0, "most model calls, instead of the manifest's")
	flags.Var(timeFlag{&f.maxDuration}, "max-duration", "longest time, instead of the manifest's")
	flags.StringArrayVar(&f.tools, "tool", nil, "use only this tool (may be repeated)")
	flags.StringArrayVar(&f.state, "state", nil, "KEY=JSON: what a key of agent.state has at first (may be repeated)")
	flags.StringArrayVar(&f.attach, "attach", nil, "send this image or file with the prompt (may be repeated)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would be sent, and call nothing")
	a.completeTools(cmd, &f.file)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.run(cmd, &f, args[0]) }
	return cmd
}

// addFile gives cmd the flag -f.
func addFile(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVarP(file, "file", "f", "wagent.yaml", "the manifest")
}

func (a *app) run(cmd *cobra.Command, f *runFlags, prompt string) (err error) {
	m, err := a.load(cmd, f)
	if err != nil {
		return err
	}
	in, err := a.input(cmd, f, prompt)
	if err != nil {
		return err
	}
	scr := a.openScreen(a.out)
	defer scr.close()
	h, err := a.newHost(cmd.Context(), m, &opening{scr: scr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(cmd.Context()))) }()
	a.warn(scr, m)
	if f.dryRun {
		return a.dryRun(h, m, in, f.format.value)
	}
	if a.outLost {
		scr.note(scr.style.yellow("wagent: warning: ") + lostOutput)
	}
	if m.Model.Provider == "replay" {
		scr.note(scr.style.dim("the model's replies are played from " + visible.Line(filepath.Base(m.Model.Recording), maxReason)))
	}
	s := &session{view: a.view(f, scr), scr: scr, manifest: m, limit: in.Budget.MaxDuration}
	if m.Model.Provider != "replay" && m.Model.APIKey == "" {
		s.keyless = a.keyless()
	}
	return a.drive(cmd.Context(), h, in, s)
}

// keyless says why no key is sent.
func (a *app) keyless() string {
	if a.getenv("OPENAI_API_KEY") == "" {
		return "no key is sent: OPENAI_API_KEY is not set (model.api_key)"
	}
	return "no key is sent: the manifest has no model.api_key, such as ${OPENAI_API_KEY}"
}

// warn tells a person what works and should be known.
func (a *app) warn(scr *screen, m *manifest.Manifest) {
	for _, w := range m.Warnings() {
		scr.note(scr.style.yellow("wagent: warning: ") + visible.Line(w.String(), maxComplaint))
	}
}

// load reads the manifest and puts the flags in the place of what it says.
func (a *app) load(cmd *cobra.Command, f *runFlags) (*manifest.Manifest, error) {
	m, err := manifest.Load(f.file, os.LookupEnv)
	if err != nil {
		return nil, missingManifest(f.file, err)
	}
	flags := cmd.Flags()
	if m.Model.Provider == "replay" && (flags.Changed("model") || flags.Changed("base-url")) {
		return nil, fmt.Errorf("--model and --base-url: the model of %s is a recording (model.provider: replay): set provider: openai there", f.file)
	}
	if err := overridden(m, f.overrides(flags.Changed, m)); err != nil {
		return nil, err
	}
	return m, nil
}

// missingManifest says how to get a manifest when there is none.
func missingManifest(file string, err error) error {
	if file == "" {
		return errors.New("-f: the path of the manifest is empty")
	}
	if errors.Is(err, os.ErrNotExist) && file == "wagent.yaml" {
		return fmt.Errorf("there is no wagent.yaml here: name one with -f, or make one with %q", "wagent init")
	}
	return err
}

// input makes the run's input of flags and prompt.
func (a *app) input(cmd *cobra.Command, f *runFlags, prompt string) (host.Input, error) {
	var in host.Input
	prompt, err := a.given(prompt)
	switch {
	case err != nil:
		return in, fmt.Errorf("the prompt: %w", err)
	case strings.TrimSpace(prompt) == "":
		return in, errors.New("the prompt is empty")
	}
	in = host.Text(strings.ToValidUTF8(prompt, "\ufffd"))
	parts, err := attachments(f.attach)
	if err != nil {
		return in, err
	}
	in.Messages[0].Content = append(in.Messages[0].Content, parts...)
	in.Tools = f.tools
	if in.State, err = givenState(f.state); err != nil {
		return in, err
	}
	if cmd.Flags().Changed("max-steps") {
		if f.maxSteps < 0 || f.maxSteps > maxSteps {
			return in, fmt.Errorf("--max-steps: must be from 0 to %d", maxSteps)
		}
		in.Budget.MaxSteps = &f.maxSteps
	}
	if cmd.Flags().Changed("max-duration") {
		if f.maxDuration < time.Millisecond || f.maxDuration > maxDuration {
			return in, fmt.Errorf("--max-duration: must be from 1ms to %s", maxDuration)
		}
		in.Budget.MaxDuration = f.maxDuration
	}
	return in, nil
}

// given returns arg, or what standard input holds where arg is "-".
func (a *app) given(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	text, err := io.ReadAll(io.LimitReader(a.in, maxGiven+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("reading standard input: %w", err)
	case len(text) > maxGiven:
		return "", fmt.Errorf("standard input is larger than %s", bytesText(maxGiven))
	}
	return string(text), nil
}

// view shows the run in the format that was asked for. For programs standard
// output has nothing but JSON, and a person still sees what happens.
func (a *app) view(f *runFlags, scr *screen) view {
	text := &textView{scr: scr, style: scr.style, verbose: a.verbose > 0, quiet: f.format.value != "text"}
	if !text.quiet {
		return text
	}
	return both{&jsonView{w: a.out, lines: f.format.value == "jsonl"}, text}
}

// session is one run as the command shows it.
type session struct {
	view     view
	scr      *screen
	keyless  string // why no key is sent, until it has been said; "": one is
	manifest *manifest.Manifest
	limit    time.Duration // --max-duration; 0: the manifest's
}

// drive runs the agent and returns how the command ends: with an [*ended] once
// the run has begun.
func (a *app) drive(ctx context.Context, h *host.Host, in host.Input, s *session) error {
	begun := false
	var end error
	for ev, err := range h.Run(ctx, in) {
		switch {
		case err != nil && !begun:
			return errors.Join(err, s.view.end())
		case err != nil:
			return failed(errors.Join(err, s.view.broken(err), s.view.end()))
		}
		begun = true
		s.sayKeyless(ev.Body)
		if err := s.view.show(ev); err != nil {
			return failed(errors.Join(fmt.Errorf("writing the answer: %w", err), s.view.end()))
		}
		end = s.verdict(ev.Body)
	}
	if err := s.view.end(); err != nil {
		return failed(fmt.Errorf("writing the answer: %w", err))
	}
	return end
}

// sayKeyless says with the first failure of the model that it was given no key. One
// that has replied wants none.
func (s *session) sayKeyless(b run.Body) {
	failed := false
	switch b := b.(type) {
	case run.Replied:
		s.keyless = ""
	case run.Retried:
		failed = true
	case run.Failed:
		failed = b.Err.Kind == string(model.Auth) || b.Err.Kind == string(model.Unreachable)
	}
	if failed && s.keyless != "" {
		s.scr.note(s.scr.style.yellow("! ") + s.keyless)
		s.keyless = ""
	}
}

// verdict turns the last event of a run into the end of the command.
func (s *session) verdict(b run.Body) error {
	switch b := b.(type) {
	case run.Failed:
		return failed(errors.New(failureText(&b.Err)))
	case run.Finished:
		m := s.manifest.WithDefaults()
		if code := exitCode(b.ExitReason, m.Agent.ExitConditions); code != exitOK {
			if b.ExitReason == run.ExitParseErrors && m.Agent.Output != nil && !unread(b.Result) {
				return &ended{code, errors.New(noOutput)}
			}
			if b.ExitReason == run.ExitToolCallBudget {
				return &ended{code, errors.New(overCalls(b.Result, &m.Agent))}
			}
			return &ended{code, errors.New(stopText(b.ExitReason, b.Result, cmp.Or(s.limit, time.Duration(m.Agent.MaxDuration))))}
		}
	}
	return nil
}
