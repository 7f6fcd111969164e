package manifest

import (
	"math"
	"slices"
	"strings"
	"time"
)

const maxFallback = 16

// endpoint checks what a model and a fallback have in common.
func (c *checker) endpoint(field string, m *Model) {
	c.address(field+".base_url", m.BaseURL)
	if strings.ContainsFunc(string(m.APIKey), func(r rune) bool { return r <= ' ' || r > '~' }) {
		c.fail(field+".api_key", "the key has a space, a line break or another character that no key has")
	}
	c.between(field+".context_window", m.ContextWindow, 1, 1e9)
	c.between(field+".max_output_tokens", int64(m.MaxOutputTokens), 1, 1e7)
	if t := m.Temperature; t != nil && (math.IsNaN(*t) || *t < 0 || *t > 2) {
		c.fail(field+".temperature", "must be from 0 to 2")
	}
	c.duration(field+".timeout", m.Timeout, 24*time.Hour)
	c.between(field+".retry.attempts", int64(m.Retry.Attempts), 1, 20)
	c.duration(field+".retry.initial", m.Retry.Initial, time.Hour)
	c.duration(field+".retry.max", m.Retry.Max, time.Hour)
	c.price(field+".prices.input", m.Prices.Input, 1e6)
	c.price(field+".prices.cached", m.Prices.Cached, 1e6)
	c.price(field+".prices.output", m.Prices.Output, 1e6)
	c.encodable(field+".extra", m.Extra)
	for _, key := range sortedKeys(m.Extra) {
		if ofTheLoop(key) {
			c.fail(entry(field+".extra", key), "extra cannot replace what the host sends as %q", key)
		}
	}
	c.compat(field+".compat", &m.Compat)
}

// ofTheLoop says that a member of a request is the host's. There are servers that do
// not tell capitals apart.
func ofTheLoop(member string) bool {
	owned := []string{"messages", "model", "stream", "tools", "functions", "function_call", "n"}
	return slices.ContainsFunc(owned, func(o string) bool { return strings.EqualFold(o, member) })
}

func (c *checker) compat(field string, k *Compat) {
	c.word(field+".reasoning", k.Reasoning, []string{"tool_turns", "never", "always"})
	c.word(field+".call_ids", k.CallIDs, []string{"any", "short"})
	c.word(field+".system_role", k.SystemRole, []string{"system", "developer", "user"})
	c.word(field+".max_tokens", k.MaxTokens, []string{"max_tokens", "max_completion_tokens"})
	c.word(field+".order", k.Order, []string{"any", "alternate"})
	c.word(field+".schemas", k.Schemas, []string{"full", "plain"})
	if len(k.Omit) > 100 {
		c.fail(field+".omit", "more than 100 members")
		return
	}
	for i, key := range k.Omit {
		if ofTheLoop(key) {
			c.fail(item(field+".omit", i), "a request has to have %q", key)
		}
	}
}

// brokenIn says that something in the field could not be read.
func (c *checker) brokenIn(field string) bool {
	for known := range c.known {
		if strings.HasPrefix(known, field+".") {
			return true
		}
	}
	return false
}

func (c *checker) fallback(m *Model) {
	if len(m.Fallback) > maxFallback {
		c.fail("model.fallback", "more than %d models", maxFallback)
		return
	}
	for i := range m.Fallback {
		field, f := item("model.fallback", i), &m.Fallback[i]
		if f.isZero() && !c.brokenIn(field) {
			c.fail(field, `is the first model again: write what differs, such as "name"`)
		}
		c.endpoint(field, f.alone())
		if d := f.over(m).withDefaults().Retry; f.Retry != (Retry{}) && d.Initial > d.Max {
			c.fail(field+".retry", "with what is inherited, initial is longer than max")
		}
	}
}
