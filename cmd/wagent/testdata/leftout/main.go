// Leftout is a module with two tools, of which one has arguments that have no
// schema.
package main

import "github.com/wagent-dev/wagent/sdk"

// Broken is what the tool that is left out is called with.
type Broken struct {
	Done func() `json:"done"`
}

func main() {}

func init() {
	sdk.Tool("works", "Works.", func(*sdk.Call, struct{}) (string, error) { return "", nil })
	sdk.Tool("broken", "Cannot be served.", func(*sdk.Call, Broken) (string, error) { return "", nil })
}
