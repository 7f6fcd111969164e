//go:build wasip1

// The guest of package script as a tool of our SDK.
package main

import (
	"encoding/json"

	"github.com/wagent-dev/wagent/host/internal/sandbox/testdata/doors/script"
	"github.com/wagent-dev/wagent/sdk"
)

func main() {}

func init() {
	sdk.Tool("script", "Does what it is told to.", func(_ *sdk.Call, raw json.RawMessage) (string, error) {
		return script.Run(raw), nil
	})
}
