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
	text := strings.ToLower(e.Message + " " + e.Code)
	switch e.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError:
	case http.StatusNotFound: // seen: no model of a router takes it
		return learnMedia(p, text, sent)
	default:
		return nil, ""
	}
	if e.Kind == model.ContextOverflow {
		return nil, ""
	}
	for _, lesson := range []func() (*profile, string){
		func() (*profile, string) { return learnIDs(p, text) },
		func() (*profile, string) { return learnReasoning(p, text, sent) },
		func() (*profile, string) { return learnExtra(p, text, sent) },
		func() (*profile, string) { return c.learnMaxTokens(p, e.Param, text) },
		func() (*profile, string) { return c.learnParam(p, e.Param, text) },
		func() (*profile, string) { return learnToolChoice(p, e.Param, text, req) },
		func() (*profile, string) { return learnRole(p, e.Param, text) },
		func() (*profile, string) { return learnOrder(p, text) },
		func() (*profile, string) { return learnMedia(p, text, sent) },
		func() (*profile, string) { return learnSchemas(p, text, tools) },
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

// learnExtra leaves out what another model at the same endpoint signed: it is for that
// model alone. Where a signature is missing, there is nothing to leave out.
func learnExtra(p *profile, text string, sent *encoded) (*profile, string) {
	if !sent.extra || !containsAny(text, "signature", "reasoning_details", "thinking block", "extra_content") ||
		containsAny(text, "missing", "required", "must be passed") {
		return nil, ""
	}
	return p.with(func(q *profile) { q.noExtra = true }), "no members that are not known"
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
			if strings.Contains(text, name) && isUnsupported(text) && c.sends(p, name) {
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

// learnRole tries the roles that a system message can have, each once: the other
// one of the two names where the refusal is about a name, else the user.
func learnRole(p *profile, param, text string) (*profile, string) {
	names := map[systemRole]string{roleSystem: "system", roleDeveloper: "developer", roleUser: "user"}
	if p.system == roleUser || !strings.Contains(text, "role") && !strings.Contains(text, "variant") ||
		!strings.Contains(text, names[p.system]) || !isUnsupported(text) {
		return nil, ""
	}
	next := roleUser
	if p.systemRefused == 0 && (p.system == roleDeveloper || strings.HasSuffix(param, "role") || strings.Contains(text, "'system'")) {
		next = roleDeveloper - p.system
	}
	return p.with(func(q *profile) { q.system, q.systemRefused = next, p.systemRefused+1 }), "the role " + names[next]
}

func learnOrder(p *profile, text string) (*profile, string) {
	if p.alternate || !containsAny(text, "must alternate", "unexpected role", "expected last role",
		"must be at the beginning", "must be the first message", "consecutive messages", "last message must be") {
		return nil, ""
	}
	return p.with(func(q *profile) { q.alternate = true }), "user and assistant in turns"
}

// learnMedia leaves out what tools returned beside text. What a person gave is not
// left out: whoever asks about an image wants to know that it was not seen.
func learnMedia(p *profile, text string, sent *encoded) (*profile, string) {
	if !takesNone(text) {
		return nil, ""
	}
	images := sent.images && aboutImages(text)
	files := sent.files && aboutFiles(text)
	if !images && !files && (sent.images || sent.files) && containsAny(text, "content") {
		images, files = sent.images, sent.files
	}
	switch {
	case images:
		return p.with(func(q *profile) { q.noImages = true }), "no images"
	case files:
		return p.with(func(q *profile) { q.noFiles = true }), "no files"
	}
	return nil, ""
}

func learnSchemas(p *profile, text string, tools *toolset) (*profile, string) {
	if p.plainSchemas || len(tools.defs) == 0 || !containsAny(text, "schema", ".parameters", "function_declarations", "additionalproperties") {
		return nil, ""
	}
	if !isUnsupported(text) && !containsAny(text, "cannot find field", "invalid schema", "invalid json schema") {
		return nil, ""
	}
	return p.with(func(q *profile) { q.plainSchemas = true }), "schemas with common words only"
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
