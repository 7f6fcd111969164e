package main

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// value is a number: a fraction where the operations allow it, else a float
// with about 15 digits that mean something.
type value struct {
	exact  *big.Rat // nil: approx holds
	approx float64
}

// maxBits bounds the numerator and denominator of a fraction. What is longer
// goes on as a float: nobody reads a thousand digits.
const maxBits = 4096

// digits is how many significant digits an inexact result is shown with.
const digits = 15

var (
	errRange    = errors.New("the result is too large")
	errNotReal  = errors.New("the result is not a real number")
	errZero     = errors.New("division by zero")
	errExponent = errors.New("the exponent is too large")
)

func fraction(r *big.Rat) (value, error) {
	if r.Num().BitLen() > maxBits || r.Denom().BitLen() > maxBits {
		f, _ := r.Float64()
		return float(f)
	}
	return value{exact: r}, nil
}

func whole(n int64) value { return value{exact: big.NewRat(n, 1)} }

func float(f float64) (value, error) {
	switch {
	case math.IsNaN(f):
		return value{}, errNotReal
	case math.IsInf(f, 0):
		return value{}, errRange
	}
	return value{approx: f}, nil
}

// float returns v as a float.
func (v value) float() float64 {
	if v.exact == nil {
		return v.approx
	}
	f, _ := v.exact.Float64()
	return f
}

func (v value) sign() int {
	if v.exact != nil {
		return v.exact.Sign()
	}
	switch {
	case v.approx > 0:
		return 1
	case v.approx < 0:
		return -1
	}
	return 0
}

// integer returns v as an integer of at most 63 bits, if it is one.
func (v value) integer() (int64, bool) {
	if v.exact != nil {
		return v.exact.Num().Int64(), v.exact.IsInt() && v.exact.Num().IsInt64()
	}
	n := int64(v.approx)
	return n, float64(n) == v.approx && math.Abs(v.approx) < 1<<53
}

func compare(a, b value) int {
	if a.exact != nil && b.exact != nil {
		return a.exact.Cmp(b.exact)
	}
	switch x, y := a.float(), b.float(); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// binary is one of the operators, on fractions and on floats.
type binary struct {
	exact  func(z, a, b *big.Rat) *big.Rat
	approx func(a, b float64) float64
}

func (op binary) apply(a, b value) (value, error) {
	if a.exact != nil && b.exact != nil {
		return fraction(op.exact(new(big.Rat), a.exact, b.exact))
	}
	return float(op.approx(a.float(), b.float()))
}

func add(a, b value) (value, error) {
	return binary{(*big.Rat).Add, func(a, b float64) float64 { return a + b }}.apply(a, b)
}

func subtract(a, b value) (value, error) {
	return binary{(*big.Rat).Sub, func(a, b float64) float64 { return a - b }}.apply(a, b)
}

func multiply(a, b value) (value, error) {
	return binary{(*big.Rat).Mul, func(a, b float64) float64 { return a * b }}.apply(a, b)
}

func divide(a, b value) (value, error) {
	if b.sign() == 0 {
		return value{}, errZero
	}
	return binary{(*big.Rat).Quo, func(a, b float64) float64 { return a / b }}.apply(a, b)
}

// modulo is what is left of a, with the sign of b: -7 % 3 is 2.
func modulo(a, b value) (value, error) {
	q, err := divide(a, b)
	if err != nil {
		return value{}, err
	}
	n, err := floor(q)
	if err != nil {
		return value{}, err
	}
	whole, err := multiply(n, b)
	if err != nil {
		return value{}, err
	}
	return subtract(a, whole)
}

func power(a, b value) (value, error) {
	n, ok := b.integer()
	if a.exact == nil || !ok {
		return float(math.Pow(a.float(), b.float()))
	}
	if a.sign() == 0 && n < 0 {
		return value{}, errZero
	}
	bits := int64(max(a.exact.Num().BitLen(), a.exact.Denom().BitLen()))
	if n > maxBits || n < -maxBits || bits*max(n, -n) > 2*maxBits {
		return float(math.Pow(a.float(), float64(n)))
	}
	e := big.NewInt(max(n, -n))
	num, den := new(big.Int).Exp(a.exact.Num(), e, nil), new(big.Int).Exp(a.exact.Denom(), e, nil)
	if n < 0 {
		num, den = den, num
	}
	return fraction(new(big.Rat).SetFrac(num, den))
}

func factorial(v value) (value, error) {
	n, ok := v.integer()
	switch {
	case !ok || n < 0:
		return value{}, errors.New("a factorial needs a whole number that is not negative")
	case n > 170:
		return value{}, errRange
	}
	return fraction(new(big.Rat).SetInt(new(big.Int).MulRange(1, n)))
}

func floor(v value) (value, error) {
	if v.exact == nil {
		return float(math.Floor(v.approx))
	}
	q, m := new(big.Int), new(big.Int)
	q.DivMod(v.exact.Num(), v.exact.Denom(), m) // Euclid: the denominator is positive
	return value{exact: new(big.Rat).SetInt(q)}, nil
}

// decimal writes v, and says whether nothing was rounded.
func (v value) decimal() (string, bool) {
	if v.exact == nil {
		return trimmed(strconv.FormatFloat(v.approx, 'g', digits, 64)), false
	}
	if v.exact.IsInt() {
		return v.exact.Num().String(), true
	}
	if n, exact := v.exact.FloatPrec(); exact && n <= 50 {
		return v.exact.FloatString(n), true
	}
	return trimmed(strconv.FormatFloat(v.float(), 'g', digits, 64)), false
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
