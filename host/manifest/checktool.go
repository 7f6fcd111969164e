package manifest

import (
	"slices"
	"strings"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

const maxNames = 1000

// names checks a list of tools' names.
func (c *checker) names(field string, names []string) {
	switch {
	case names != nil && len(names) == 0:
		c.fail(field, "the list is empty: leave it out for the default")
	case len(names) > maxNames:
		c.fail(field, "more than %d names", maxNames)
		return
	}
	for i, name := range names {
		if name == "" {
			c.fail(item(field, i), "the name is empty")
		}
		c.name(item(field, i), name)
		if slices.Contains(names[:i], name) {
			c.fail(item(field, i), "%s is there twice", show(name))
		}
	}
}

func (c *checker) tool(field string, t *Tool) {
	if t.Agent != "" || c.known[field+".agent"] {
		c.agentTool(field, t)
		return
	}
	c.source(field, t)
	c.digest(field, t)
	c.word(field+".abi", t.ABI, []string{"auto", "wagent", "extism", "wasi"})
	c.word(field+".input", t.Input, []string{"json", "text"})
	c.word(field+".instances", t.Instances, []string{"pristine", "session"})
	c.word(field+".isolation", t.Isolation, []string{"inprocess", "process", "auto"})
	if t.ABI == "wagent" || t.ABI == "wasi" {
		for _, f := range []struct{ name, value string }{{"export", t.Export}, {"input", t.Input}} {
			if f.value != "" {
				c.fail(field+"."+f.name, "is for plain Extism modules, and abi is %s", t.ABI)
			}
		}
	}
	if t.ABI == "wasi" && t.Instances == "session" {
		c.fail(field+".instances", "session is not for programs (abi: wasi): a program ends after each call and keeps nothing")
	}
	c.name(field+".name", t.Name)
	c.names(field+".tools", t.Tools)
	c.renames(field+".rename", t)
	c.described(field+".description", t.Description)
	if kind, ok := t.Parameters["type"]; ok && kind != "object" {
		c.fail(field+".parameters", `must be a JSON Schema of an object: write "type: object"`)
	}
	c.encodable(field+".parameters", t.Parameters)
	c.encodable(field+".config", t.Config)
	c.limits(field+".limits", &t.Limits)
	c.secrets(field, t)
	c.stateOf(field, t)
	c.allow(field, t)
	for _, host := range sortedKeys(t.Allow.Write) {
		if why := c.covers(c.absolute(host)); why != "" {
			c.absent(entry(field+".allow.write", host), "%s", why)
		}
	}
}

func (c *checker) digest(field string, t *Tool) {
	if sum := strings.TrimPrefix(t.SHA256, "sha256:"); (t.SHA256 != "" || c.empty(field+".sha256")) && (len(sum) != 64 || strings.Trim(sum, "0123456789abcdefABCDEF") != "") {
		c.fail(field+".sha256", "must be 64 hexadecimal digits")
	}
}

func (c *checker) described(field, text string) {
	if len(text) > 64<<10 {
		c.fail(field, "has more than 64 KiB")
	}
}

func (c *checker) allow(field string, t *Tool) {
	t.Allow.each(func(f fault) {
		f.field = within(field, f.field)
		c.tell(f)
	}, &policy.Grants{})
	c.grantWord(field+".allow.clock", t.Allow.Clock, "real, coarse", `"fixed:" and a time`)
	c.grantWord(field+".allow.random", t.Allow.Random, "real", `"seed:" and a number`)
	c.folders(field+".allow.read", t.Allow.Read)
	c.folders(field+".allow.write", t.Allow.Write)
}

func (c *checker) module(field, module string) {
	switch {
	case module == "" && !c.known[field+".module"]:
		c.fail(field, `the field "module" is missing`)
	case strings.HasPrefix(module, "oci://") || strings.HasPrefix(module, "https://"):
		c.fail(field+".module", "a module from a registry or an address is not supported yet; use a file")
	case remote(module):
		c.fail(field+".module", "a module is a file")
	case module != "":
		c.regular(field+".module", module)
	}
}

func (c *checker) renames(field string, t *Tool) {
	if len(t.Rename) > maxNames {
		c.fail(field, "more than %d names", maxNames)
		return
	}
	taken := map[string]string{}
	for _, from := range sortedKeys(t.Rename) {
		name, to := entry(field, from), t.Rename[from]
		if !isName(from) {
			c.fail(name, "%s is not a name of a tool", show(from))
		}
		if to == "" {
			c.fail(name, "the new name is empty")
		}
		c.name(name, to)
		if other, ok := taken[to]; ok {
			c.fail(name, "%s is already the new name of %s", show(to), show(other))
		}
		taken[to] = from
		if len(t.Tools) > 0 && !slices.Contains(t.Tools, from) {
			c.fail(name, "%s is not in the list tools, so the model does not see it", show(from))
		}
	}
}

func (c *checker) limits(field string, l *Limits) {
	c.size(field+".memory", l.Memory, 64*policy.KiB, 4*policy.GiB)
	c.duration(field+".timeout", l.Timeout, time.Hour)
	c.size(field+".output", l.Output, 1, 256*policy.MiB)
	c.size(field+".logs", l.Logs, 1, 64*policy.MiB)
	c.size(field+".http_response", l.HTTPResponse, 1, policy.GiB)
	c.between(field+".http_requests", int64(l.HTTPRequests), 1, 10_000)
	c.size(field+".kv", l.KV, 1, 256*policy.MiB)
	c.size(field+".files.bytes", l.Files.Bytes, 1, 1024*policy.GiB)
	c.between(field+".files.count", int64(l.Files.Count), 1, 1e7)
	c.between(field+".files.open", int64(l.Files.Open), 1, 10_000)
}
