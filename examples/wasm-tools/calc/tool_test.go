package main

import (
	"math/big"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/sdk/abi"
	"github.com/wagent-dev/wagent/sdk/sdktest"
)

func TestExpressions(t *testing.T) {
	for expr, want := range map[string]string{
		"1 + 2 * 3":                  "7",
		"(1 + 2) * 3":                "9",
		"0.1 + 0.2":                  "0.3",
		"1/3 + 1/3 + 1/3":            "1",
		"-2^2":                       "-4",
		"2^-1":                       "0.5",
		"2^3^2":                      "512",
		"2**10":                      "1024",
		"-7 % 3":                     "2",
		"7 % -3":                     "-2",
		"10 / 4":                     "2.5",
		"10 / 3":                     "3.33333333333333",
		"round(10 / 3, 2)":           "3.33",
		"round(-2.5)":                "-3",
		"round(1234, -2)":            "1200",
		"floor(-1.5) + ceil(-1.5)":   "-3",
		"trunc(-1.5)":                "-1",
		"sqrt(2.25)":                 "1.5",
		"sqrt(2)":                    "1.4142135623731",
		"max(1, 2.5, -3) - min(4,2)": "0.5",
		"avg(1, 2, 3, 5)":            "2.75",
		"sum(1,2,3)":                 "6",
		"5!":                         "120",
		"ln(e)":                      "1",
		"sin(pi / 2)":                "1",
		"1_000_000 * 2.50":           "2500000",
		"3 × 4 ÷ 6 − 1":              "1",
		"1.5e3":                      "1500",
		"2^200":                      "1606938044258990275541962092341162602522202993782792835301376",
		"1e-9":                       "0.000000001",
		"exp(100)":                   "2.68811714181614e43",
		" 4 ":                        "4",
		"1e400 / 3":                  "3.33333333333333e399",
		"1e-999":                     "1e-999",
		"1e300 * 1e300 / 1e300":      "1" + strings.Repeat("0", 300),
		"1^1e12 + (-1)^(1e12 + 1)":   "0",
		"max(1e400, pi) / 1e399":     "10",
		"sin(pi)":                    "0",
		"sin(1e-20)":                 "1e-20",
		"sin(1e16)":                  "0.779688006606979",
		"cos(pi / 2) + tan(pi)":      "0",
		"0 * -sin(1)":                "0",
		"sqrt(2)^2 - 2":              "0",
		"floor(sqrt(2)^2 * 50)":      "100",
		"floor(log10(1000))":         "3",
		"round(100 * 1.005, 1)":      "100.5",
		"round(pi, 4)":               "3.1416",
		"2*-3":                       "-6",
		"2 ** -1 * PI / π":           "0.5",
	} {
		res := sdktest.Call(t, "calc", map[string]any{"expression": expr})
		if res.Error != nil || res.Text() != want {
			t.Errorf("%s = %s, want %s (%v)", expr, res.Text(), want, res.Error)
		}
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for expr, want := range map[string]string{
		"1 +":          "a number was expected, and the expression ends, at character 4",
		"1 + * 2":      "a number, a name or ( was expected, at character 5",
		"(1 + 2":       "a ) is missing for the ( at character 1",
		"1 2":          "an operator was expected, at character 3",
		"1 / (2 - 2)":  "division by zero, at character 3",
		"sqrt(-1)":     "the square root of a negative number is not real",
		"ln(-1)":       "the result is not a real number",
		"9^9^9^9":      "the result is too large",
		"foo(1)":       `there is no "foo"; the functions are abs,`,
		"sqrt":         "sqrt needs its arguments in parentheses",
		"sqrt(1, 2)":   "sqrt takes 1 argument(s), got 2",
		"min()":        "min needs 1 argument(s), got 0",
		"1.2.3":        "this is not a number",
		"1e99999":      "the exponent is too large",
		"(-3)!":        "a factorial needs a whole number",
		"171!":         "the result is too large",
		"round(1, 99)": "the second argument of round",
		"grün":         `there is no "grün"`,
		"sqr(4)":       `there is no "sqr": did you mean sqrt?`,
		"tan(pi / 2)":  "the tangent is not defined there",
		"1/exp(-1000)": "the result is too close to zero, at character 3",
		"0^-0.5":       "division by zero",
		"ln(1e400)":    "the number is too large or too small",
		"1e400 + pi":   "the number is too large or too small",
		"1,234 + 1":    "write 1234.5 for 1,234.5, at character 2: 1⟨here⟩,234 + 1",
		"80 * 15%":     "15 percent is 15/100",
		"15% * 80":     "15 percent is 15/100",
		"2 + 2)":       "there is no ( for this ), at character 6",
		"x = 2":        `there is no "x"`,
		"2 = 2":        "an expression has no =",
	} {
		res := sdktest.Call(t, "calc", map[string]any{"expression": expr})
		if res.Error == nil || res.Error.Kind != abi.Input || !strings.Contains(res.Error.Message, want) {
			t.Errorf("%s: %+v, want %q", expr, res.Error, want)
		}
	}
}

func TestDeepExpressionsAreRefused(t *testing.T) {
	for _, expr := range []string{strings.Repeat("(", 2000), strings.Repeat("-", 4000) + "1", strings.Repeat("2^", 1500) + "2", strings.Repeat("abs(", 900)} {
		res := sdktest.Call(t, "calc", map[string]any{"expression": expr})
		if res.Error == nil {
			t.Errorf("%.10s… gave %s", expr, res.Text())
		}
	}
}

func TestAnErrorRepeatsLittle(t *testing.T) {
	for _, expr := range []string{strings.Repeat("é", 4000), "1 " + strings.Repeat("2", 4000), strings.Repeat("1+", 2000)} {
		res := sdktest.Call(t, "calc", map[string]any{"expression": expr})
		if res.Error == nil || len(res.Error.Message) > 600 {
			t.Errorf("%.10s…: %v", expr, res.Error)
		}
	}
}

func FuzzEvaluate(f *testing.F) {
	for _, s := range []string{"1+2", "round(1/3, 2)", "2^-0.5", "((", "5!!", "1e999", "9^9^9", "×÷−", "sum(1,", "1e400/pi", "tan(pi/2)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 4096 {
			return
		}
		v, err := evaluate(s)
		if err != nil {
			return
		}
		text, exact := v.decimal()
		shown, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%q = %s, which is no number", s, text)
		}
		if exact && compare(v, value{exact: shown}) != 0 {
			t.Fatalf("%q = %s, exactly, but is not", s, text)
		}
	})
}
