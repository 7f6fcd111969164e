package sdk_test

import (
	"fmt"
	"strings"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/sdktest"
)

type greeting struct {
	Name  string `json:"name" doc:"who is greeted" min:"1"`
	Style string `json:"style" doc:"how" enum:"plain,loud" default:"plain"`
}

// A tool registers itself in an init function. Here it is called without a
// sandbox, as in its tests.
func ExampleTool() {
	sdk.Tool("greet", "Greets somebody.", func(_ *sdk.Call, a greeting) (string, error) {
		text := "Hello, " + a.Name + "."
		if a.Style == "loud" {
			text = strings.ToUpper(text)
		}
		return text, nil
	}, sdk.ReadOnly())

	for _, args := range []string{`{"name":"Ada"}`, `{"name":"Ada","style":"loud"}`, `{"nam":"Ada","style":"shy"}`} {
		res, err := sdktest.Do("greet", args)
		if err != nil {
			fmt.Println(err)
			return
		}
		if res.Error != nil {
			fmt.Printf("%s: %s\n", res.Error.Kind, res.Error)
			continue
		}
		fmt.Println(res.Text())
	}
	// Output:
	// Hello, Ada.
	// HELLO, ADA.
	// input: argument "name": is missing; argument "style": want one of plain, loud, not "shy"; argument "nam": there is no such argument: did you mean "name"?
}
