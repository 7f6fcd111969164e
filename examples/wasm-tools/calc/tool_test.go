package main

import (
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
		"grün":         `there is no "gr"`,
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

func FuzzEvaluate(f *testing.F) {
	for _, s := range []string{"1+2", "round(1/3, 2)", "2^-0.5", "((", "5!!", "1e999", "9^9^9", "×÷−", "sum(1,"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) {
		if len(s) > 4096 {
			return
		}
		if v, err := evaluate(s); err == nil {
			v.decimal()
		}
	})
}
