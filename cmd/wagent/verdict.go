package main

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/wagent-dev/wagent/host/manifest"
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

// overCalls says which limit of tool calls stopped a run, by the last call that was
// refused. A result without steps does not tell.
func overCalls(r *run.Result, a *manifest.Agent) string {
	const said = "the model went on calling "
	for _, s := range slices.Backward(r.Steps) {
		if s.ErrorKind != run.KindRefused {
			continue
		}
		if most := a.MaxCallsPerTool[s.Action.Tool]; most > 0 && r.ToolCallCounts[s.Action.Tool] >= most {
			return fmt.Sprintf("%sthe tool %q over its limit of %s (agent.max_calls_per_tool)", said, s.Action.Tool, count(most, "call"))
		}
		if a.MaxToolCalls > 0 {
			return fmt.Sprintf("%stools over the limit of %s (agent.max_tool_calls)", said, count(a.MaxToolCalls, "call"))
		}
	}
	return said + "tools over their limit (agent.max_tool_calls, agent.max_calls_per_tool)"
}

// noOutput says why a run that is to give a value was stopped without one.
const noOutput = "the model gave no output that fits agent.output.schema, as often as it may try (agent.output.attempts)"

// unread says that the last reply of a run could not be read at all.
func unread(r *run.Result) bool {
	n := len(r.Steps)
	return n > 0 && r.Steps[n-1].Number == r.StepCount && r.Steps[n-1].ErrorKind == run.KindParseError
}

// How servers say that a model takes no tools (Ollama, OpenRouter, vLLM, llama.cpp),
// and no images (llama.cpp, vLLM, Ollama, and those that know text alone).
var (
	noTools  = regexp.MustCompile(`(?i)not support (tool|function)|tools? (is|are) not supported|support tool use|--enable-auto-tool-choice|tools param requires`)
	noImages = regexp.MustCompile(`(?i)not support image|image input|image_url.*(not supported|expected .?text)|not a multimodal model`)
)

// failureText says why a run failed, and what to do where that is known.
func failureText(f *run.Failure) string {
	text := f.Message
	if f.Tool != "" {
		text = fmt.Sprintf("tool %q: %s: set agent.on_tool_error: feedback to let the model go on", f.Tool, text)
	}
	return text + advice(f)
}

// advice says what to do about a failure, "" where that is not known.
func advice(f *run.Failure) string {
	status := func(n int) bool { return strings.HasPrefix(f.Message, fmt.Sprintf("model: HTTP %d: ", n)) }
	refused := f.Kind == "model_rejected" || f.Kind == "model_unreachable"
	switch {
	case f.Kind == "model_auth":
		return ": check model.api_key"
	case f.Kind == "context_overflow":
		return ": the conversation is longer than the model takes"
	case refused && noTools.MatchString(f.Message):
		return ": it may write its calls as text, with agent.planner: react or json (--planner)"
	case refused && noImages.MatchString(f.Message):
		return ": if the model takes no images set model.compat.images: false"
	case f.Kind == "model_unreachable" && status(http.StatusTooManyRequests):
		return ": wait, or name another model in model.fallback"
	case f.Kind == "model_unreachable":
		return ": check model.base_url and that it answers"
	case f.Kind == "model_rejected" && status(http.StatusNotFound) && !strings.Contains(f.Message, "base_url"):
		return ": check model.name"
	}
	return ""
}

// brokenRun is the failure of a run whose store, or the host itself, failed.
func brokenRun(err error) run.Failure {
	kind := run.FailStore
	if errors.Is(err, run.ErrOrder) {
		kind = run.FailInternal
	}
	return run.Failure{Kind: kind, Message: flat(err.Error())}
}
