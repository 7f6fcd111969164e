package main

import (
	"math/big"
	"strconv"
	"strings"
)

// digits is how many significant digits an inexact result is shown with.
const digits = 15

// maxDecimals is how many decimals an exact result may have; one with more is
// rounded.
const maxDecimals = 50

// rounded takes off the digits that are noise: what is shown as 3 is 3 to floor
// as well.
func rounded(f float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'e', digits-1, 64), 64)
	if err != nil { // the largest floats round to what is none
		return f
	}
	return r
}

// decimal writes v, and says whether nothing was rounded.
func (v value) decimal() (string, bool) {
	if v.exact == nil {
		return trimmed(strconv.FormatFloat(v.approx, 'g', digits, 64)), false
	}
	if v.exact.IsInt() {
		return v.exact.Num().String(), true
	}
	if n, exact := v.exact.FloatPrec(); exact && n <= maxDecimals {
		return v.exact.FloatString(n), true
	}
	// A big.Float, since a fraction may be beyond what a float64 holds.
	f := new(big.Float).SetPrec(128).SetRat(v.exact)
	return trimmed(f.Text('g', digits)), false
}

// trimmed takes off zeros that say nothing.
func trimmed(s string) string {
	mantissa, exponent, scientific := strings.Cut(s, "e")
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	if !scientific {
		return mantissa
	}
	return mantissa + "e" + strings.TrimPrefix(exponent, "+")
}
