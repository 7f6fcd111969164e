package main

import (
	"errors"
	"math"
	"math/big"
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

var (
	errRange    = errors.New("the result is too large")
	errNotReal  = errors.New("the result is not a real number")
	errZero     = errors.New("division by zero")
	errExponent = errors.New("the exponent is too large")
	errSmall    = errors.New("the result is too close to zero")
	errBeyond   = errors.New("the number is too large or too small for anything but + - * / and ^ of exact numbers")
)

func fraction(r *big.Rat) (value, error) {
	if r.Num().BitLen() <= maxBits && r.Denom().BitLen() <= maxBits {
		return value{exact: r}, nil
	}
	f, _ := r.Float64()
	if f == 0 {
		return value{}, errSmall
	}
	return float(f)
}

func whole(n int64) value { return value{exact: big.NewRat(n, 1)} }

func float(f float64) (value, error) {
	switch {
	case math.IsNaN(f):
		return value{}, errNotReal
	case math.IsInf(f, 0):
		return value{}, errRange
	case f == 0:
		return value{}, nil // not -0
	}
	return value{approx: f}, nil
}

// float returns v as a float, which has to hold it: 1e400 is a fraction only.
func (v value) float() (float64, error) {
	if v.exact == nil {
		return v.approx, nil
	}
	f, _ := v.exact.Float64()
	if math.IsInf(f, 0) || f == 0 && v.exact.Sign() != 0 {
		return 0, errBeyond
	}
	return f, nil
}

// floats returns both as floats.
func floats(a, b value) (x, y float64, err error) {
	if x, err = a.float(); err != nil {
		return 0, 0, err
	}
	y, err = b.float()
	return x, y, err
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

// compare orders two values. A fraction and a float are compared as fractions,
// since every float is one.
func compare(a, b value) int {
	return a.rational().Cmp(b.rational())
}

func (v value) rational() *big.Rat {
	if v.exact != nil {
		return v.exact
	}
	return new(big.Rat).SetFloat64(v.approx) // never Inf or NaN: see float
}

// binary is one of the operators, on fractions and on floats.
type binary struct {
	exact  func(z, a, b *big.Rat) *big.Rat
	approx func(a, b float64) (float64, error)
}

func (op binary) apply(a, b value) (value, error) {
	if a.exact != nil && b.exact != nil {
		return fraction(op.exact(new(big.Rat), a.exact, b.exact))
	}
	x, y, err := floats(a, b)
	if err != nil {
		return value{}, err
	}
	f, err := op.approx(x, y)
	if err != nil {
		return value{}, err
	}
	return float(f)
}

// noise is the part of a float that its rounding may have added.
const noise = 0x1p-51

func add(a, b value) (value, error) {
	return binary{(*big.Rat).Add, func(a, b float64) (float64, error) {
		if math.Abs(a+b) < max(math.Abs(a), math.Abs(b))*noise {
			return 0, nil // sqrt(2)^2 - 2 is 0 and not 4e-16
		}
		return a + b, nil
	}}.apply(a, b)
}

func subtract(a, b value) (value, error) {
	minus, err := negate(b)
	if err != nil {
		return value{}, err
	}
	return add(a, minus)
}

func negate(v value) (value, error) {
	if v.exact != nil {
		return value{exact: new(big.Rat).Neg(v.exact)}, nil
	}
	return float(-v.approx)
}

func multiply(a, b value) (value, error) {
	return binary{(*big.Rat).Mul, func(a, b float64) (float64, error) {
		return unlessLost(a*b, a != 0 && b != 0)
	}}.apply(a, b)
}

func divide(a, b value) (value, error) {
	if b.sign() == 0 {
		return value{}, errZero
	}
	return binary{(*big.Rat).Quo, func(a, b float64) (float64, error) {
		return unlessLost(a/b, a != 0)
	}}.apply(a, b)
}

// unlessLost refuses a zero that stands for a number too small for a float.
func unlessLost(f float64, something bool) (float64, error) {
	if f == 0 && something {
		return 0, errSmall
	}
	return f, nil
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
	if a.sign() == 0 && b.sign() < 0 {
		return value{}, errZero
	}
	n, ok := b.integer()
	if a.exact == nil || !ok || tooLong(a.exact, n) {
		x, y, err := floats(a, b)
		if err != nil {
			return value{}, err
		}
		f, err := unlessLost(math.Pow(x, y), x != 0)
		if err != nil {
			return value{}, err
		}
		return float(f)
	}
	e := big.NewInt(max(n, -n))
	num, den := new(big.Int).Exp(a.exact.Num(), e, nil), new(big.Int).Exp(a.exact.Denom(), e, nil)
	if n < 0 {
		num, den = den, num
	}
	return fraction(new(big.Rat).SetFrac(num, den))
}

// tooLong says that r^n is not worth an exact result. Whatever the exponent, a
// power of 1, 0 or -1 is short.
func tooLong(r *big.Rat, n int64) bool {
	bits := int64(max(r.Num().BitLen(), r.Denom().BitLen()))
	return bits > 1 && (n > maxBits || n < -maxBits || bits*max(n, -n) > 2*maxBits)
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
