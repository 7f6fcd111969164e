//go:build wasip1

// The guest of package script as a program of plain WASI.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/wagent-dev/wagent/host/internal/sandbox/testdata/doors/script"
)

func main() {
	var req struct{ Arguments json.RawMessage }
	if err := json.NewDecoder(os.Stdin).Decode(&req); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(script.Run(req.Arguments))
}
