package openai

import (
	"fmt"
	"slices"
	"strings"
)

// Compat says beforehand how the endpoint wants to be spoken to. What is left empty
// is known by the name of its host, for a few, and else the way that most take.
// Whatever is said here is where a client begins: what an endpoint refuses is
// learned from its answer all the same.
type Compat struct {
	// Reasoning says which assistant messages carry their reasoning back: those
	// with calls, to where they came from (tool_turns), none (never), or all
	// (always). Empty: tool_turns.
	Reasoning string
	// CallIDs are the ids of calls on the wire: any, or nine letters and digits
	// (short). Empty: any; short for Mistral.
	CallIDs string
	// SystemRole is the role of the system message: system, developer, or user
	// where there is no such role. Empty: system.
	SystemRole string
	// MaxTokens is the member that bounds a reply: max_tokens or
	// max_completion_tokens. Empty: max_tokens; the other for OpenAI itself.
	MaxTokens string
	// Order is what is asked of the order of roles: any, or alternate, where the
	// system message is the first and the only one and user and assistant take
	// turns. Empty: any; alternate for Mistral.
	Order string
	// Schemas are those of tools: full as they are, or plain, without the words of
	// JSON Schema that some endpoints refuse. Arguments are checked by the full
	// schema whichever is sent. Empty: full.
	Schemas string
	// NoImages and NoFiles say that messages may not hold any. They are told as
	// text then. Files that are text are sent as text to all endpoints.
	NoImages, NoFiles bool
	// Omit are members of a request that are never sent.
	Omit []string
}

// words lists what each choice of a Compat may be.
func (c *Compat) words() []choice {
	return []choice{
		{"reasoning", &c.Reasoning, []string{"tool_turns", "never", "always"}},
		{"call_ids", &c.CallIDs, []string{"any", "short"}},
		{"system_role", &c.SystemRole, []string{"system", "developer", "user"}},
		{"max_tokens", &c.MaxTokens, []string{"max_tokens", "max_completion_tokens"}},
		{"order", &c.Order, []string{"any", "alternate"}},
		{"schemas", &c.Schemas, []string{"full", "plain"}},
	}
}

type choice struct {
	name  string
	value *string
	of    []string
}

// over returns c where it says something, and what is known of the host elsewhere.
func (c Compat) over(host string) (Compat, error) {
	for _, w := range c.words() {
		if *w.value != "" && !slices.Contains(w.of, *w.value) {
			return c, fmt.Errorf("compat %s: unknown value %q; there are %s", w.name, *w.value, strings.Join(w.of, ", "))
		}
	}
	for _, name := range c.Omit {
		if owned(name) {
			return c, fmt.Errorf("compat omit: a request has to have %q", name)
		}
	}
	preset := knownOf(host)
	theirs := preset.words()
	for i, w := range c.words() {
		switch {
		case *w.value != "":
		case *theirs[i].value != "":
			*w.value = *theirs[i].value
		default:
			*w.value = w.of[0]
		}
	}
	c.Omit = slices.Clone(c.Omit)
	return c, nil
}

// knownOf is what the documents of an endpoint say for all of its models.
func knownOf(host string) Compat {
	switch {
	case host == "api.openai.com":
		return Compat{MaxTokens: "max_completion_tokens"}
	case host == "mistral.ai" || strings.HasSuffix(host, ".mistral.ai"):
		return Compat{CallIDs: "short", Order: "alternate"}
	}
	return Compat{}
}

// owned says that a member of a request is the loop's: without it, or with another,
// the model would be asked something else, or its answer not understood. Servers
// that do not tell capitals apart count.
func owned(member string) bool {
	return slices.ContainsFunc(ownedMembers(), func(o string) bool { return strings.EqualFold(o, member) })
}

// ownedMembers are the conversation, the tools in both forms that there are, how
// the reply comes, and how many there are.
func ownedMembers() []string {
	return []string{"model", "messages", "tools", "stream", "functions", "function_call", "n"}
}

// profile is where a client begins.
func (c *Compat) profile(origin string) *profile {
	p := &profile{
		origin: origin, completionTokens: c.MaxTokens == "max_completion_tokens", shortIDs: c.CallIDs == "short",
		alternate: c.Order == "alternate", plainSchemas: c.Schemas == "plain", noImages: c.NoImages, noFiles: c.NoFiles,
	}
	switch c.Reasoning {
	case "never":
		p.echo = echoNever
	case "always":
		p.echo = echoAlways
	}
	switch c.SystemRole {
	case "developer":
		p.system = roleDeveloper
	case "user":
		p.system = roleUser
	}
	p.variant = p.name()
	return p
}
