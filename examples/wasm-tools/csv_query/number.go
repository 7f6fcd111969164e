package main

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// notation is how the file writes numbers.
type notation struct {
	decimal  string // "." or ","
	thousand string // the other one
}

// plain is how this program writes numbers.
func plain() notation { return notation{".", ","} }

func written(a *Args) notation {
	if a.DecimalComma {
		return notation{",", "."}
	}
	return plain()
}

// number reads a field as a number: with thousands parted, a percent sign or a
// currency sign around it.
func (n notation) number(s string) (float64, bool) {
	if n.decimal == "." && isBare(s) {
		if f, ok := whole(s); ok {
			return f, true
		}
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil
	}
	s = strings.Trim(strings.TrimSpace(s), "$€£ \u00a0")
	if s == "" || s[len(s)-1] > '9' && s[len(s)-1] < 0x80 {
		return 0, false // most text ends here
	}
	s, percent := strings.CutSuffix(s, "%")
	if strings.ContainsAny(s, "xXpP_") {
		return 0, false // not decimal
	}
	if strings.Contains(s, n.thousand) {
		if !n.grouped(s) {
			return 0, false
		}
		s = strings.ReplaceAll(s, n.thousand, "")
	}
	if n.decimal != "." {
		s = strings.Replace(s, n.decimal, ".", 1)
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		return 0, false
	}
	if percent {
		f /= 100
	}
	return f, true
}

// whole reads so few digits that no float64 rounds them.
func whole(s string) (float64, bool) {
	if s == "" || len(s) > digits {
		return 0, false
	}
	n := 0
	for i := range len(s) {
		c := s[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return float64(n), true
}

// isBare says that s is digits, with a sign and a point at most: most numbers are
// read without looking for more.
func isBare(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

// grouped says that the separators stand where they part thousands.
func (n notation) grouped(s string) bool {
	whole, fraction, _ := strings.Cut(strings.TrimLeft(s, "+-"), n.decimal)
	groups := strings.Split(whole, n.thousand)
	for i, g := range groups {
		if i > 0 && len(g) != 3 || i == 0 && (g == "" || len(g) > 3) {
			return false
		}
	}
	return !strings.Contains(fraction, n.thousand)
}

// key is a field as it is sorted: numbers in front, by their value, then text,
// in which dates in ISO form are in their order, and what is empty at the end.
type key struct {
	rank   int8 // 0 number, 1 text, 2 nothing
	number float64
	text   string
}

func (n notation) key(s string) key {
	s = strings.TrimSpace(s)
	if s == "" {
		return key{rank: 2}
	}
	if f, ok := n.number(s); ok {
		return key{number: f, text: s}
	}
	return key{rank: 1, text: s}
}

// compare orders two keys. What has no number does not come first because the
// numbers are to go down.
func (k key) compare(other key, desc bool) int {
	if k.rank != other.rank {
		return cmp.Compare(k.rank, other.rank)
	}
	d := 0
	switch k.rank {
	case 0:
		d = cmp.Compare(k.number, other.number)
	case 1:
		d = strings.Compare(k.text, other.text)
	}
	if desc {
		return -d
	}
	return d
}

// digits is how many significant digits a total is written with. The rest is
// noise of binary fractions.
const digits = 15

// decimal writes a number.
func decimal(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.FormatInt(int64(f), 10)
	}
	s := strconv.FormatFloat(f, 'g', digits, 64)
	if v, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(v) >= 1e-6 && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return s
}
