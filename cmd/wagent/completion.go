package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newCompletion(a *app) *cobra.Command {
	shells := map[string]func(*cobra.Command) error{
		"bash":       func(c *cobra.Command) error { return c.GenBashCompletionV2(a.out, true) },
		"zsh":        func(c *cobra.Command) error { return c.GenZshCompletion(a.out) },
		"fish":       func(c *cobra.Command) error { return c.GenFishCompletion(a.out, true) },
		"powershell": func(c *cobra.Command) error { return c.GenPowerShellCompletionWithDesc(a.out) },
	}
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print completion code for bash, zsh, fish or powershell",
		Example:   "  source <(wagent completion bash)",
		Args:      oneArg("SHELL"),
		ValidArgs: []string{"bash", "fish", "powershell", "zsh"},
		RunE: func(c *cobra.Command, args []string) error {
			write := shells[args[0]]
			if write == nil {
				return fmt.Errorf("unknown shell %q: it is one of bash, fish, powershell, zsh", args[0])
			}
			return write(c.Root())
		},
	}
}
