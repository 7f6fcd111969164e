package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// laterCommand is a command of the design that this version does not have. Like the
// fields of a manifest that come later it is refused by name, with what there is.
type laterCommand struct{ name, instead string }

// laterCommands are those of the program, laterTools those of tools.
func laterCommands() []laterCommand {
	return []laterCommand{
		{"chat", `use "wagent run", once for each prompt`},
		{"resume", `run the prompt again with "wagent run"; a Go program resumes a run of its store with host.Resume`},
		{"snapshot", `a run that stops is not kept; "wagent run -o json" prints all that it did`},
		{"new", `"wagent init" makes a tool to begin with`},
		{"lock", "write sha256 into an entry of tools, and it is checked"},
		{"replay", "play a recording with model.provider: replay in the manifest"},
		{"serve", `"wagent run -o jsonl" prints the events of a run as they happen`},
		{"mcp", `"wagent tools call" calls a tool`},
		{"push", "a module is a file: copy it"},
		{"pull", "a module is a file: copy it"},
		{"build", "build a tool with its language's own compiler, for wasip1"},
		{"dev", "build the tool, and call it with \"wagent tools call\""},
		{"runs", `"wagent run -o json" prints all that a run did`},
		{"audit", `"wagent run -o jsonl" prints all that happens`},
	}
}

func laterTools() []laterCommand {
	return []laterCommand{
		{"test", `"wagent tools call" calls a tool`},
		{"add", "write the entry into tools of the manifest; \"wagent tools inspect\" shows what the module asks for"},
	}
}

// addLater gives cmd commands that say that they come later. They are in no list.
func addLater(cmd *cobra.Command, all []laterCommand) {
	for _, l := range all {
		name := strings.TrimPrefix(cmd.CommandPath()+" "+l.name, "wagent ")
		said := fmt.Sprintf("%q is not supported yet: %s", name, l.instead)
		cmd.AddCommand(&cobra.Command{
			Use: l.name, Long: said, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error { return errors.New(said) },
		})
	}
}

// laterFlag is what to do without a flag of run that comes later.
func laterFlag(name string) (instead string, ok bool) {
	switch name {
	case "history":
		return "a run begins with its prompt alone", true
	case "break":
		return "a run goes on to its end; --dry-run prints what it would begin with", true
	case "snapshot-dir":
		return "a run that stops is not kept", true
	case "record":
		return "-o jsonl prints the events of the run", true
	case "yes":
		return "nothing asks for a confirmation", true
	}
	return "", false
}

// flagFault is what is said of a flag that cannot be used.
func flagFault(c *cobra.Command, err error) error {
	var missing interface {
		error
		GetSpecifiedName() string
	}
	switch known := errors.As(err, &missing); {
	case known && c.Name() == "run":
		if instead, ok := laterFlag(missing.GetSpecifiedName()); ok {
			return fmt.Errorf("--%s is not supported yet: %s", missing.GetSpecifiedName(), instead)
		}
	case known && c.Name() == "call" && missing.GetSpecifiedName() == "f":
		return errors.New("call has no -f, as it reads no manifest: give the arguments with --args, or - for standard input")
	}
	return fmt.Errorf("%w: see %q", err, c.CommandPath()+" --help")
}
