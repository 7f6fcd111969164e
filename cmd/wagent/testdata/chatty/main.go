// Chatty is a module whose tools say and try what a person should be told about.
package main

import (
	"encoding/json"
	"os"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// Path is a file to read.
type Path struct {
	Path string `json:"path"`
}

// Request is one to send.
type Request struct {
	Method string `json:"method"`
	URL    string `json:"url"`
}

func main() {}

func init() {
	sdk.Tool("talk", "Logs, and answers with its config.", func(c *sdk.Call, _ struct{}) (json.RawMessage, error) {
		c.Infof("only with -v")
		c.Progress(42, 100, "half way")
		c.Warnf("a stack:\n\tmain.go:1 \x1b[31m\nits end")
		var config json.RawMessage
		return config, c.Config(&config)
	}, sdk.Requests{Reason: "likes to talk"})
	sdk.Tool("open", "Reads a file.", func(_ *sdk.Call, a Path) (string, error) {
		b, err := os.ReadFile(a.Path)
		return string(b), err
	})
	sdk.Tool("send", "Sends a request.", func(c *sdk.Call, a Request) (string, error) {
		_, err := sdk.Do(c, &abi.HTTPRequest{Method: a.Method, URL: a.URL})
		return "sent", err
	})
}
