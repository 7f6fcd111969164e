package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versions are what the command was built of.
type versions struct {
	Wagent   string `json:"wagent"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Wazero   string `json:"wazero"`
}

func newVersion(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Print the version, and those of Go and the engine", Args: noArgs}
	f := addFormat(cmd, "text", "json")
	cmd.RunE = func(*cobra.Command, []string) error {
		v := readVersions()
		if f.value == "json" {
			return writeJSON(a.out, v)
		}
		_, err := io.WriteString(a.out, v.String())
		return err
	}
	return cmd
}

// String is a line for each of them.
func (v versions) String() string {
	return fmt.Sprintf("wagent %s\n%s\nwazero %s\n", v.Wagent, v.Go, v.Wazero)
}

func readVersions() versions {
	v := versions{Wagent: "unknown", Go: "unknown", Wazero: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Go = info.GoVersion
	v.Wagent = cmp.Or(info.Main.Version, "(devel)")
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	for _, d := range info.Deps {
		if d.Path == "github.com/tetratelabs/wazero" {
			v.Wazero = d.Version
		}
	}
	return v
}
