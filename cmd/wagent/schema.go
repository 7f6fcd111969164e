package main

import (
	"github.com/spf13/cobra"

	"github.com/wagent-dev/wagent/host/manifest"
)

func newSchema(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the manifest's JSON Schema", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			s, err := manifest.Schema()
			if err != nil {
				return failed(err)
			}
			_, err = a.out.Write(s)
			return err
		},
	}
}
