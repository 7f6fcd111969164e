package main

import (
	"cmp"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versions are what the command was built of.
type versions struct {
	Wagent   string `json:"wagent"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Wazero   string `json:"wazero"`
	Extism   string `json:"extism"`
}

func newVersion(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Print the version, and those of Go and the engines", Args: noArgs}
	f := addFormat(cmd, "text", "json")
	cmd.RunE = func(*cobra.Command, []string) error {
		v := readVersions()
		if f.value == "json" {
			return writeJSON(a.out, v)
		}
		_, err := fmt.Fprintf(a.out, "wagent %s\n%s\nwazero %s\nextism %s\n", v.Wagent, v.Go, v.Wazero, v.Extism)
		return err
	}
	return cmd
}

func readVersions() versions {
	v := versions{Wagent: "unknown", Go: "unknown", Wazero: "unknown", Extism: "unknown"}
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
		switch d.Path {
		case "github.com/tetratelabs/wazero":
			v.Wazero = d.Version
		case "github.com/extism/go-sdk":
			v.Extism = d.Version
		}
	}
	return v
}
