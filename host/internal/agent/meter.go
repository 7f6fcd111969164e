package agent

import (
	"strconv"
	"strings"
	"sync"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// Limits bound what a run uses, the runs that its calls begin included. Zero: no
// limit.
type Limits struct {
	Tokens  int64          // of all model calls; the one that goes over it is the last
	Cost    float64        // likewise, in the currency of Prices
	Calls   int            // tool calls that run
	CallsOf map[string]int // of single tools
	// Repeats is how often the same calls may have the same results in a row: the
	// model is warned then, and the run ends when it goes on.
	Repeats int
}

// Meter counts what a run uses. What it counts counts for the run that began it as
// well, so no run can spend more by calling agents. Many goroutines may use it.
type Meter struct {
	limits Limits
	up     *Meter // of the run that began this one; nil: none did

	mu     sync.Mutex
	tokens int64
	cost   float64
	calls  int
	of     map[string]int
}

// newMeter returns the meter of a run from where its state is. What the state has
// spent was counted above when it was spent.
func newMeter(l Limits, up *Meter, s *run.State) *Meter {
	spent, since := s.Spent(), &s.Since
	m := &Meter{limits: l, up: up, tokens: spent.Usage.TotalTokens - since.Tokens, cost: spent.Cost - since.Cost, calls: spent.ToolCalls - since.Nested}
	m.of = make(map[string]int, len(s.CallCounts))
	for tool, n := range s.CallCounts {
		m.of[tool] = n - since.CallCounts[tool]
		m.calls -= since.CallCounts[tool]
	}
	return m
}

// spend counts a model call.
func (m *Meter) spend(u model.Usage, cost float64) {
	for ; m != nil; m = m.up {
		m.mu.Lock()
		m.tokens = model.Usage{TotalTokens: m.tokens}.Add(u).TotalTokens
		m.cost += max(cost, 0)
		m.mu.Unlock()
	}
}

// take counts a call of tool, unless a limit is reached: then it says which, in
// words for the model. A limit of a run above is that run's, and is told as such.
func (m *Meter) take(tool string) (refused string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if most := m.limits.CallsOf[tool]; most > 0 && m.of[tool] >= most {
		return amount(most, "call") + " of this tool"
	}
	if most := m.limits.Calls; most > 0 && m.calls >= most {
		return amount(most, "tool call")
	}
	if m.up != nil {
		if refused = m.up.take(""); refused != "" {
			return strings.TrimSuffix(refused, ofAbove) + ofAbove
		}
	}
	m.calls++
	m.of[tool]++
	return ""
}

// ofAbove is said of a limit of the run that began this one, or of one above that.
const ofAbove = " of the run that this one is part of"

func amount(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// over is the limit that the next model call would be over, if there is one; own
// says that it is the run's and not that of one above.
func (m *Meter) over() (reason run.ExitReason, own bool) {
	own = true
	for ; m != nil; m, own = m.up, false {
		if reason = m.overOwn(); reason != "" {
			return reason, own
		}
	}
	return "", false
}

func (m *Meter) overOwn() run.ExitReason {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch l := &m.limits; {
	case l.Tokens > 0 && m.tokens >= l.Tokens:
		return run.ExitTokenBudget
	case l.Cost > 0 && m.cost >= l.Cost:
		return run.ExitCostBudget
	}
	return ""
}
