// Vectors has the tools that testdata/abi/calls.json calls. An SDK of another
// language has a module with the same tools.
package main

import (
	"strings"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// Echo is what echo is called with.
type Echo struct {
	Text  string `json:"text" doc:"what to say"`
	Times int    `json:"times" doc:"how often" min:"1" max:"3" default:"1"`
}

// Sum is what sum is called with.
type Sum struct {
	Numbers []float64 `json:"numbers"`
}

// Total is what sum answers.
type Total struct {
	Sum   float64 `json:"sum"`
	Count int     `json:"count"`
}

// Fail is what fail is called with.
type Fail struct {
	Kind         string `json:"kind" enum:"input,auth_required,not_found,rate_limited,unavailable,internal"`
	Message      string `json:"message"`
	RetryAfterMS int64  `json:"retry_after_ms,omitempty"`
}

// Panic is what panic is called with.
type Panic struct {
	Message string `json:"message"`
}

// Settings is what config reads.
type Settings struct {
	Lang string `json:"lang"`
}

// Where is what where answers.
type Where struct {
	ID   string `json:"id"`
	Run  string `json:"run"`
	Step int    `json:"step"`
	Lang string `json:"lang"`
}

func main() {}

func init() {
	sdk.Tool("echo", "Says a text again.", func(_ *sdk.Call, a Echo) (string, error) {
		return strings.Repeat(a.Text, a.Times), nil
	}, sdk.Title("Echo"), sdk.ReadOnly())
	sdk.Tool("sum", "Adds numbers.", func(_ *sdk.Call, a Sum) (t Total, _ error) {
		for _, n := range a.Numbers {
			t.Sum += n
			t.Count++
		}
		return t, nil
	})
	sdk.Tool("fail", "Fails.", func(_ *sdk.Call, a Fail) (string, error) {
		return "", &abi.Error{Kind: abi.ErrorKind(a.Kind), Message: a.Message, RetryAfterMS: a.RetryAfterMS}
	})
	sdk.Tool("panic", "Panics.", func(_ *sdk.Call, a Panic) (string, error) {
		panic(a.Message)
	})
	sdk.Tool("where", "Says what it knows of its call.", func(c *sdk.Call, _ struct{}) (Where, error) {
		var s Settings
		if err := c.Config(&s); err != nil {
			return Where{}, err
		}
		return Where{c.ID, c.Run.ID, c.Run.Step, s.Lang}, nil
	})
}
