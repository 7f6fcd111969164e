//go:build wasip1

// The program of the sandbox's tests: a tool of the wasi ABI.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/wagent-dev/wagent/sdk/abi"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--describe" {
		fmt.Print(`{"tools":[{"name":"shout","inputSchema":{"type":"object"}}]}`)
		return
	}
	var req abi.Request
	if err := json.NewDecoder(os.Stdin).Decode(&req); err != nil {
		fmt.Fprintln(os.Stderr, "reading the request:", err)
		os.Exit(1)
	}
	fmt.Printf("%s %q %s", os.Args[0], os.Args[1:], req.Arguments)
}
