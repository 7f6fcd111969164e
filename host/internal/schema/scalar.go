package schema

import (
	"encoding/json"
	"math/big"
	"strconv"
	"unicode/utf8"
)

func (c *checker) text(rules *textRules, v string, s spot) bool {
	if rules.min != nil || rules.max != nil {
		c.spend(len(v) / 64)
		if !counted(utf8.RuneCountInString(v), rules.min, rules.max, "characters", s) {
			return false
		}
	}
	if rules.pattern == nil {
		return true
	}
	if !c.spend(rules.pattern.steps(v)) {
		return false
	}
	if !rules.pattern.MatchString(v) {
		s.fail("must match the pattern %s", show(rules.pattern.source))
		return false
	}
	return true
}

// arithmetic is the work of comparing exact numbers.
const arithmetic = 16

func (c *checker) numeric(rules *numberRules, s spot) bool {
	v, ok := s.value.(json.Number)
	if !ok || *rules == (numberRules{}) {
		return true
	}
	if !c.spend(arithmetic) {
		return false
	}
	got := rational(v)
	switch {
	case rules.min != nil && got.Cmp(rules.min) < 0:
		s.fail("must be at least %s", showRational(rules.min))
	case rules.max != nil && got.Cmp(rules.max) > 0:
		s.fail("must be at most %s", showRational(rules.max))
	case rules.above != nil && got.Cmp(rules.above) <= 0:
		s.fail("must be more than %s", showRational(rules.above))
	case rules.below != nil && got.Cmp(rules.below) >= 0:
		s.fail("must be less than %s", showRational(rules.below))
	case rules.multiple != nil && !new(big.Rat).Quo(got, rules.multiple).IsInt():
		s.fail("must be a multiple of %s", showRational(rules.multiple))
	default:
		return true
	}
	return false
}

func showRational(r *big.Rat) string {
	if r.IsInt() && r.Num().IsInt64() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}
