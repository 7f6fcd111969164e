package openai

import (
	"net/http"
	"strings"

	"github.com/wagent-dev/wagent/host/model"
)

// learn reads from a refusal how the endpoint wants to be spoken to. It returns
// p changed in the one thing that was refused, and nil when there is nothing to
// change; what says the change in words. Each thing changes once, so that an
// endpoint which refuses everything ends the attempts.
func (c *Client) learn(p *profile, e *model.Error, sent *encoded, tools *toolset, req *model.Request) (changed *profile, what string) {
	switch e.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError:
	default:
		return nil, ""
	}
	if e.Kind == model.ContextOverflow {
		return nil, ""
	}
	text := strings.ToLower(e.Message + " " + e.Code)
	for _, lesson := range []func() (*profile, string){
		func() (*profile, string) { return learnIDs(p, text) },
		func() (*profile, string) { return learnReasoning(p, text, sent) },
		func() (*profile, string) { return c.learnMaxTokens(p, e.Param, text) },
		func() (*profile, string) { return c.learnParam(p, e.Param, text) },
		func() (*profile, string) { return learnToolChoice(p, e.Param, text, req) },
		func() (*profile, string) { return learnRole(p, text) },
		func() (*profile, string) { return learnContent(p, text, sent) },
		func() (*profile, string) { return learnFlat(p, text, sent, tools) },
	} {
		if q, what := lesson(); q != nil {
			return q, what
		}
	}
	return nil, ""
}

func learnIDs(p *profile, text string) (*profile, string) {
	if p.shortIDs || !strings.Contains(text, "tool call id") || !strings.Contains(text, "length of 9") {
		return nil, ""
	}
	return p.with(func(q *profile) { q.shortIDs = true }), "call ids of nine characters"
}

func learnReasoning(p *profile, text string, sent *encoded) (*profile, string) {
	if p.echoLearned || !strings.Contains(text, "reasoning_content") {
		return nil, ""
	}
	echo := echoAlways
	if sent.reasoning && !containsAny(text, "must be passed", "missing", "required") {
		echo = echoNever
	}
	return p.with(func(q *profile) { q.echo, q.echoLearned = echo, true }), "reasoning in the history"
}

func (c *Client) learnMaxTokens(p *profile, param, text string) (*profile, string) {
	name, other := "max_tokens", "max_completion_tokens"
	if p.completionTokens {
		name, other = other, name
	}
	if p.renamed || c.opts.MaxOutputTokens == 0 {
		return nil, ""
	}
	refused := param == name || strings.Contains(text, "'"+name+"'") || strings.HasPrefix(text, name+":")
	if !refused || !(isUnsupported(text) || strings.Contains(text, other)) {
		return nil, ""
	}
	return p.with(func(q *profile) { q.completionTokens, q.renamed = !q.completionTokens, true }), other + " instead of " + name
}

func (c *Client) learnParam(p *profile, param, text string) (*profile, string) {
	param, _, _ = strings.Cut(param, ".")
	if !mayDrop(param) {
		param = ""
		for _, name := range []string{"stream_options", "parallel_tool_calls", "temperature"} {
			if strings.Contains(text, name) && isUnsupported(text) {
				param = name
				break
			}
		}
	}
	if param == "" || !isUnsupported(text) || !c.sends(p, param) {
		return nil, ""
	}
	return p.without(param), "no " + param
}

// isUnsupported tells a parameter that is not taken at all from one with a
// wrong value, which the caller must mend.
func isUnsupported(text string) bool {
	return containsAny(text, "unsupported", "not support", "unknown", "unrecognized", "unexpected", "not permitted",
		"not allowed", "extra fields", "extra inputs", "extra_forbidden", "only the default")
}

// learnToolChoice leaves out a wish of ours that an endpoint complains of in whatever
// words: a model that is not forced to call a tool may do so all the same.
func learnToolChoice(p *profile, param, text string, req *model.Request) (*profile, string) {
	const name = "tool_choice"
	if req.ToolChoice == "" || p.dropped[name] || !(param == name || containsAny(text, name, "tool choice")) {
		return nil, ""
	}
	return p.without(name), "no " + name
}

func learnRole(p *profile, text string) (*profile, string) {
	if p.developer || !strings.Contains(text, "role") || !strings.Contains(text, "system") || !isUnsupported(text) {
		return nil, ""
	}
	return p.with(func(q *profile) { q.developer = true }), "the role developer"
}

func learnContent(p *profile, text string, sent *encoded) (*profile, string) {
	if !sent.nullContent || !strings.Contains(text, "content") ||
		!containsAny(text, "null", "none", "string", "required", "missing") {
		return nil, ""
	}
	return p.with(func(q *profile) { q.emptyContent = true }), "empty content beside calls"
}

func learnFlat(p *profile, text string, sent *encoded, tools *toolset) (*profile, string) {
	if p.flatten || !sent.calls || len(tools.defs) > 0 || !strings.Contains(text, "tool") ||
		!containsAny(text, "must", "require", "without", "specify", "expected") {
		return nil, ""
	}
	return p.with(func(q *profile) { q.flatten = true }), "calls in the history as text"
}

func containsAny(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
