package run

import "time"

// Budget is limits of one run in the place of those of its agent. It is part of the run,
// so that they hold when it is resumed.
type Budget struct {
	MaxSteps    *int          `json:"max_steps,omitempty"`    // nil: the agent's; 0: no model call is made
	MaxDuration time.Duration `json:"max_duration,omitempty"` // 0: the agent's; in JSON nanoseconds

	// Limits of what the run uses, 0: the agent's. MaxCost is in the currency of the
	// agent's prices, without which nothing costs anything.
	MaxTotalTokens int64   `json:"max_total_tokens,omitempty"`
	MaxCost        float64 `json:"max_cost,omitempty"`
	MaxToolCalls   int     `json:"max_tool_calls,omitempty"`
}
