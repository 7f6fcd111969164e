package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/wagent-dev/wagent/host/run"
)

// stopText says why a run was stopped, and where that is set. limit is how long
// it was allowed to take.
func stopText(reason run.ExitReason, r *run.Result, limit time.Duration) string {
	switch reason {
	case run.ExitMaxSteps:
		return fmt.Sprintf("stopped after %s (agent.max_steps, --max-steps)", count(r.StepCount, "step"))
	case run.ExitMaxDuration:
		return fmt.Sprintf("stopped after %s (agent.max_duration, --max-duration)", durationText(limit))
	case run.ExitParseErrors:
		return "the model's replies could not be read (agent.on_parse_error): it may not keep to the form of agent.planner"
	case run.ExitTokenBudget:
		return fmt.Sprintf("stopped after %d tokens (agent.max_total_tokens)", r.TokenUsage.TotalTokens)
	case run.ExitCostBudget:
		return fmt.Sprintf("stopped after a cost of %s (agent.max_cost)", costText(r.Cost))
	case run.ExitToolCallBudget:
		return "the model went on calling tools over their limit (agent.max_tool_calls, agent.max_calls_per_tool)"
	case run.ExitRepeatedCalls:
		return "the model made the same calls with the same results over and over (agent.max_repeated_calls); a tool that is asked until its result is another needs polling: true"
	case run.ExitLength:
		return "the model's reply was cut off at its limit of tokens (model.max_output_tokens)"
	case run.ExitContentFilter:
		return "the model's reply was cut off by the provider's content filter"
	case run.ExitInterrupted:
		return errInterrupted.Error()
	default:
		return fmt.Sprintf("stopped: %s", reason)
	}
}

// noOutput says why a run that is to give a value was stopped without one.
const noOutput = "the model gave no output that fits agent.output.schema, as often as it may try (agent.output.attempts)"

// unread says that the last reply of a run could not be read at all.
func unread(r *run.Result) bool {
	n := len(r.Steps)
	return n > 0 && r.Steps[n-1].Number == r.StepCount && r.Steps[n-1].ErrorKind == run.KindParseError
}

// failureText says why a run failed, and what to do where that is known.
func failureText(f *run.Failure) string {
	text := f.Message
	if f.Tool != "" {
		text = fmt.Sprintf("tool %q: %s: set agent.on_tool_error: feedback to let the model go on", f.Tool, text)
	}
	status := func(n int) bool { return strings.HasPrefix(f.Message, fmt.Sprintf("model: HTTP %d: ", n)) }
	switch f.Kind {
	case "model_auth":
		return text + ": check model.api_key"
	case "model_unreachable":
		if status(http.StatusTooManyRequests) {
			return text + ": wait, or name another model in model.fallback"
		}
		return text + ": check model.base_url and that it answers"
	case "model_rejected":
		if status(http.StatusNotFound) && !strings.Contains(f.Message, "base_url") {
			return text + ": check model.name"
		}
	case "context_overflow":
		return text + ": the conversation is longer than the model takes"
	}
	return text
}

// brokenRun is the failure of a run whose store, or the host itself, failed.
func brokenRun(err error) run.Failure {
	kind := run.FailStore
	if errors.Is(err, run.ErrOrder) {
		kind = run.FailInternal
	}
	return run.Failure{Kind: kind, Message: flat(err.Error())}
}
