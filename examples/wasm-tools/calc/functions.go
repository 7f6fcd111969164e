package main

import (
	"errors"
	"fmt"
	"math"
	"math/big"
)

// function is what a name in front of parentheses does.
type function struct {
	least, most int // arguments; most < 0: any number
	call        func([]value) (value, error)
}

// functions returns the functions by name.
func functions() map[string]function {
	one := func(f func(value) (value, error)) function {
		return function{1, 1, func(a []value) (value, error) { return f(a[0]) }}
	}
	real := func(f func(float64) float64) function {
		return one(func(v value) (value, error) {
			x, err := v.float()
			if err != nil {
				return value{}, err
			}
			return float(f(x))
		})
	}
	return map[string]function{
		"abs": one(absolute), "floor": one(floor), "ceil": one(ceil), "trunc": one(truncate),
		"round": {1, 2, round}, "sqrt": one(root),
		"min": {1, -1, least}, "max": {1, -1, most}, "sum": {1, -1, sum}, "avg": {1, -1, average},
		"exp": one(exponential), "ln": real(math.Log), "log10": real(math.Log10), "log2": real(math.Log2),
		"sin": real(sine), "cos": real(cosine), "tan": one(tangent),
		"asin": real(math.Asin), "acos": real(math.Acos), "atan": real(math.Atan),
	}
}

// with calls the function, if there are as many arguments as it needs.
func (f function) with(name string, args []value) (value, error) {
	switch {
	case len(args) < f.least:
		return value{}, fmt.Errorf("%s needs %d argument(s), got %d", name, f.least, len(args))
	case f.most >= 0 && len(args) > f.most:
		return value{}, fmt.Errorf("%s takes %d argument(s), got %d", name, f.most, len(args))
	}
	return f.call(args)
}

func absolute(v value) (value, error) {
	if v.sign() < 0 {
		return negate(v)
	}
	return v, nil
}

func floor(v value) (value, error) {
	if v.exact == nil {
		return float(math.Floor(rounded(v.approx)))
	}
	q, m := new(big.Int), new(big.Int)
	q.DivMod(v.exact.Num(), v.exact.Denom(), m) // Euclid: the denominator is positive
	return value{exact: new(big.Rat).SetInt(q)}, nil
}

func ceil(v value) (value, error) { return mirrored(v, floor) }

func truncate(v value) (value, error) {
	if v.sign() < 0 {
		return ceil(v)
	}
	return floor(v)
}

// mirrored applies f to -v and turns the sign of what comes out.
func mirrored(v value, f func(value) (value, error)) (value, error) {
	n, err := negate(v)
	if err != nil {
		return value{}, err
	}
	if n, err = f(n); err != nil {
		return value{}, err
	}
	return negate(n)
}

// maxPlaces bounds the decimal places of round.
const maxPlaces = 50

// round rounds half away from zero, to as many decimal places as the second
// argument says.
func round(a []value) (value, error) {
	if a[0].sign() < 0 {
		return mirrored(a[0], func(v value) (value, error) { return round(append([]value{v}, a[1:]...)) })
	}
	places := int64(0)
	if len(a) == 2 {
		var ok bool
		if places, ok = a[1].integer(); !ok || places > maxPlaces || places < -maxPlaces {
			return value{}, fmt.Errorf("the second argument of round is a whole number from -%d to %d", maxPlaces, maxPlaces)
		}
	}
	scale, err := power(whole(10), whole(places))
	if err != nil {
		return value{}, err
	}
	v, err := multiply(a[0], scale)
	if err != nil {
		return value{}, err
	}
	if v, err = add(v, value{exact: big.NewRat(1, 2)}); err != nil {
		return value{}, err
	}
	if v, err = floor(v); err != nil {
		return value{}, err
	}
	return divide(v, scale)
}

// root is exact for squares of fractions.
func root(v value) (value, error) {
	if v.sign() < 0 {
		return value{}, errors.New("the square root of a negative number is not real")
	}
	if v.exact != nil {
		n, d := new(big.Int).Sqrt(v.exact.Num()), new(big.Int).Sqrt(v.exact.Denom())
		r := new(big.Rat).SetFrac(n, d)
		if new(big.Rat).Mul(r, r).Cmp(v.exact) == 0 {
			return value{exact: r}, nil
		}
	}
	x, err := v.float()
	if err != nil {
		return value{}, err
	}
	return float(math.Sqrt(x))
}

func exponential(v value) (value, error) {
	x, err := v.float()
	if err != nil {
		return value{}, err
	}
	f, err := unlessLost(math.Exp(x), true)
	if err != nil {
		return value{}, err
	}
	return float(f)
}

// maxAngle is the largest angle of which a sine is taken for 0. Beyond, the
// rounding would excuse too much.
const maxAngle = 1 << 20

// zeroed makes 0 of what is less than the rounding of the angle x may have
// brought about: sin(pi) is 0 and not 1e-16.
func zeroed(f, x float64) float64 {
	if x = math.Abs(x); x < maxAngle && math.Abs(f) < x*noise {
		return 0
	}
	return f
}

func sine(x float64) float64   { return zeroed(math.Sin(x), x) }
func cosine(x float64) float64 { return zeroed(math.Cos(x), x) }

func tangent(v value) (value, error) {
	x, err := v.float()
	if err != nil {
		return value{}, err
	}
	if cosine(x) == 0 {
		return value{}, errors.New("the tangent is not defined there")
	}
	return float(zeroed(math.Tan(x), x))
}

func least(a []value) (value, error) { return pick(a, -1), nil }
func most(a []value) (value, error)  { return pick(a, 1), nil }

func pick(a []value, sign int) value {
	best := a[0]
	for _, v := range a[1:] {
		if compare(v, best) == sign {
			best = v
		}
	}
	return best
}

func sum(a []value) (value, error) {
	total := whole(0)
	for _, v := range a {
		var err error
		if total, err = add(total, v); err != nil {
			return value{}, err
		}
	}
	return total, nil
}

func average(a []value) (value, error) {
	total, err := sum(a)
	if err != nil {
		return value{}, err
	}
	return divide(total, whole(int64(len(a))))
}
