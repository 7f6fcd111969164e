package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wagent-dev/wagent/host"
)

// app is what the subcommands share.
type app struct {
	*streams
	noColor bool
	verbose int
	weak    bool
}

func newRoot(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "wagent",
		Short: "Run LLM agents whose tools are WebAssembly modules under limits",
		Long: "wagent runs LLM agents whose tools are WebAssembly modules. Each tool has limits on\n" +
			"memory, time and output, and may reach only what its manifest grants.",
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	asGroup(cmd)
	cmd.Version = readVersions().String()
	cmd.SetVersionTemplate("{{.Version}}")
	cmd.SetFlagErrorFunc(flagFault)
	flags := cmd.PersistentFlags()
	flags.BoolVar(&a.noColor, "no-color", false, "print no colours and no live lines")
	flags.CountVarP(&a.verbose, "verbose", "v", "log more; twice: debug")
	flags.BoolVar(&a.weak, "weak-isolation", false, "run tools with isolation: process where the system cannot shut a process off")
	cmd.AddCommand(newRun(a), newTools(a), newValidate(a), newInit(a), newSelftest(a), newSchema(a), newVersion(a), newCompletion(a))
	addLater(cmd, laterCommands())
	return cmd
}

// asGroup makes cmd one that only holds others: alone it prints its help, and a
// word that is none of them is an error.
func asGroup(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.SuggestionsMinimumDistance = 1
	cmd.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		hint := ""
		if near := meant(c, args[0]); near != "" {
			hint = fmt.Sprintf(": did you mean %q?", near)
		}
		return fmt.Errorf("unknown command %q%s: see %q", strings.TrimPrefix(c.CommandPath()+" "+args[0], "wagent "), hint, c.CommandPath()+" --help")
	}
}

// meant returns the command of c that word was probably meant to be, or "": one
// that begins with it, is one letter away, or has the same letters.
func meant(c *cobra.Command, word string) string {
	if near := c.SuggestionsFor(word); len(near) > 0 {
		return near[0]
	}
	letters := func(s string) string { return string(slices.Sorted(slices.Values([]byte(s)))) }
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && letters(sub.Name()) == letters(word) {
			return sub.Name()
		}
	}
	return ""
}

// options returns how the command makes a host. Its log goes to w.
func (a *app) options(w io.Writer) *host.Options {
	o := &host.Options{Logger: a.logger(w), WeakIsolation: a.weak}
	if a.verbose < 2 {
		o.Logger = slog.New(told{o.Logger.Handler()})
	}
	if dir, err := os.UserCacheDir(); err == nil {
		o.CacheDir = filepath.Join(dir, "wagent")
	}
	return o
}

func (a *app) logger(w io.Writer) *slog.Logger {
	level := slog.LevelWarn
	switch {
	case a.verbose == 1:
		level = slog.LevelInfo
	case a.verbose > 1:
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, at slog.Attr) slog.Attr {
			if len(groups) == 0 && at.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return at
		},
	}))
}

// oneArg says what a command's only argument is when it is not there.
func oneArg(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return fmt.Errorf("%s is missing: see %q", what, c.CommandPath()+" --help")
		case len(args) > 1:
			return fmt.Errorf("unexpected argument %q: see %q", args[1], c.CommandPath()+" --help")
		}
		return nil
	}
}

// atMostOne refuses a second argument.
func atMostOne(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("unexpected argument %q: see %q", args[1], c.CommandPath()+" --help")
	}
	return nil
}

// onePrompt wants a prompt, or the word that it is on standard input.
func onePrompt(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return errors.New("PROMPT is missing; use - for standard input")
	case len(args) > 1:
		return fmt.Errorf("unexpected argument %q: put the prompt in quotes", args[1])
	}
	return nil
}

// noArgs refuses every argument.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q: see %q", args[0], c.CommandPath()+" --help")
	}
	return nil
}

// format is the value of -o: one of a few words.
type format struct {
	value string
	all   []string
}

func (f *format) String() string { return f.value }
func (f *format) Type() string   { return strings.Join(f.all, "|") }

func (f *format) Set(s string) error {
	for _, w := range f.all {
		if s == w {
			f.value = s
			return nil
		}
	}
	return errors.New("it is one of " + strings.Join(f.all, ", "))
}

// addFormat gives cmd the flag -o; the first word is what it is without.
func addFormat(cmd *cobra.Command, all ...string) *format {
	f := &format{value: all[0], all: all}
	cmd.Flags().VarP(f, "output", "o", "what to print")
	complete(cmd, "output", cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp))
	return f
}

// complete says how a shell completes a flag of cmd.
func complete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // the flag was not added before: a fault of this program
	}
}
