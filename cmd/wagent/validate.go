package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/visible"
)

// report is what validate prints for programs.
type report struct {
	OK       bool    `json:"ok"`
	Faults   []found `json:"faults"`
	Warnings []found `json:"warnings,omitempty"`
}

// found is something at a place of the manifest.
type found struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

func newValidate(a *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "validate", Short: "Check the manifest, each module and each grant",
		Long: "validate checks the manifest and loads every module, and prints every fault with\n" +
			"file, line and column. Of the modules nothing runs but describe, with no grants.",
		Args: noArgs,
	}
	f := addFormat(cmd, "text", "json")
	addFile(cmd, &file)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		m, err := a.validate(cmd.Context(), file)
		if f.value == "text" {
			return a.validated(m, file, err)
		}
		r := report{OK: err == nil, Faults: []found{}}
		if err != nil {
			for _, one := range flatten(err) {
				r.Faults = append(r.Faults, place(one))
			}
		}
		if m != nil {
			for _, w := range m.Warnings() {
				r.Warnings = append(r.Warnings, found{w.Path, w.Line, w.Column, w.Field, w.Message})
			}
		}
		if werr := writeJSON(a.out, r); werr != nil || err == nil {
			return werr
		}
		return &ended{code: exitWrong}
	}
	return cmd
}

// validate opens everything that the manifest names.
func (a *app) validate(ctx context.Context, file string) (*manifest.Manifest, error) {
	m, h, err := a.open(ctx, file)
	if err != nil {
		return m, err
	}
	return m, h.Close(ctx)
}

// validated tells a person what was found.
func (a *app) validated(m *manifest.Manifest, file string, err error) error {
	if m != nil {
		for _, w := range m.Warnings() {
			fmt.Fprintln(a.err, a.errStyle().yellow("warning:"), visible.Line(w.String(), maxComplaint))
		}
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s: ok, %s\n", visible.Line(file, maxReason), entriesText(m))
	return err
}

// entriesText counts the tools' entries of a manifest.
func entriesText(m *manifest.Manifest) string {
	agents := 0
	for i := range m.Tools {
		if m.Tools[i].Agent != "" {
			agents++
		}
	}
	text := count(len(m.Tools)-agents, "module")
	if agents > 0 {
		text += ", " + count(agents, "agent")
	}
	return text
}

func place(err error) found {
	if e, ok := errors.AsType[*manifest.Error](err); ok {
		return found{e.Path, e.Line, e.Column, e.Field, e.Message}
	}
	return found{Message: err.Error()}
}
