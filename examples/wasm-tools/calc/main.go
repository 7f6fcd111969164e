// Calc is a tool that works out arithmetic, exactly where that is possible. It
// needs no grant.
package main

import (
	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// Args is what the tool is called with.
type Args struct {
	Expression string `json:"expression" doc:"such as (3 + 4) * 2, sqrt(2), round(10 / 3, 2), 5!; operators + - * / % (remainder) ^ !, constants pi and e; angles in radians" min:"1" max:"4096"`
}

// Result is what it answers.
type Result struct {
	Result string `json:"result" doc:"the value in decimal notation, or like 1.5e43 where that would be long"`
	Exact  bool   `json:"exact" doc:"false: rounded to 15 significant digits"`
}

// Text is what the model is shown.
func (r Result) Text() string { return r.Result }

func main() {}

func init() {
	sdk.Tool("calc", "Works out an arithmetic expression. Fractions and decimals are exact: 0.1 + 0.2 is 0.3. Functions: abs, ceil, floor, round(x, digits), trunc, min, max, sum, avg, sqrt, exp, ln, log10, log2, sin, cos, tan, asin, acos, atan.",
		func(_ *sdk.Call, a Args) (Result, error) {
			v, err := evaluate(a.Expression)
			if err != nil {
				return Result{}, sdk.Errorf(abi.Input, "%w", err)
			}
			text, exact := v.decimal()
			return Result{Result: text, Exact: exact}, nil
		}, sdk.Title("Calculator"), sdk.ReadOnly(), sdk.Idempotent())
}
