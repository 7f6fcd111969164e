package main

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// number reads a field as a number: with thousands separators, a percent sign
// or a currency sign around it. Commas part thousands, points decimals.
func number(s string) (float64, bool) {
	s = strings.Trim(strings.TrimSpace(s), "$€£ ")
	s, percent := strings.CutSuffix(s, "%")
	if strings.Contains(s, ",") && !grouped(s) {
		return 0, false
	}
	s = strings.ReplaceAll(s, ",", "")
	if s == "" || strings.ContainsAny(s, "xXpP_") {
		return 0, false // not decimal
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, false
	}
	if percent {
		f /= 100
	}
	return f, true
}

// grouped says that commas stand where they part thousands.
func grouped(s string) bool {
	whole, _, _ := strings.Cut(strings.TrimLeft(s, "+-"), ".")
	groups := strings.Split(whole, ",")
	for i, g := range groups {
		if i > 0 && len(g) != 3 || i == 0 && (g == "" || len(g) > 3) {
			return false
		}
	}
	return true
}

// compare orders two fields: as numbers where both are, else as text, which is
// the order of dates in ISO form too.
func compare(a, b string) int {
	x, xok := number(a)
	y, yok := number(b)
	switch {
	case xok && yok:
		return cmp.Compare(x, y)
	case xok != yok: // numbers first, so that the order is one
		if xok {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}

// decimal writes a number without digits that are only noise of binary
// fractions.
func decimal(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	s := strconv.FormatFloat(f, 'g', 12, 64)
	if v, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(v) >= 1e-6 && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return s
}
