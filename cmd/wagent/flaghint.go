package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/host/manifest"
)

// allowHTTP finds the rule in a refusal that names the line which would allow it.
// The words come by way of the guest, and what is made of them is pasted into a
// shell: nothing is taken that a shell would read as something else in quotes.
var allowHTTP = regexp.MustCompile(`allow\.http: - \{host: "?([A-Za-z0-9._:/*\[\]-]+)"?(?:, methods: \[([A-Z, ]*)\])?[,}]`)

// withFlag adds to a refusal the flag of tools call that would allow it: what it
// names is a line of a manifest, and here there is none.
func withFlag(text string, t *manifest.Tool) string {
	if flag := flagFor(text, t); flag != "" {
		return text + " (" + flag + ")"
	}
	return text
}

func flagFor(text string, t *manifest.Tool) string {
	rule := allowHTTP.FindStringSubmatch(text)
	switch {
	case rule != nil:
		return "--allow-http " + httpFlag(rule[1], strings.Split(rule[2], ", "))
	case strings.Contains(text, "allow: {http:"):
		return "--allow-http HOST"
	case strings.Contains(text, "allow.private_networks"):
		return "--private-networks"
	case strings.Contains(text, "allow: {kv:"):
		return "--kv"
	case strings.Contains(text, "{read:"), strings.Contains(text, "no granted folder"):
		return "--read HOST:GUEST, or --write"
	case strings.Contains(text, "{write:"):
		return "--write HOST:GUEST"
	case strings.Contains(text, "Bad file number") && len(t.Allow.Read)+len(t.Allow.Write) == 0:
		return "no folder is granted: allow.read, --read HOST:GUEST"
	case strings.Contains(text, "Bad file number"):
		return "in no folder that is granted: allow.read, --read HOST:GUEST"
	}
	return ""
}

// httpFlag is the value of --allow-http for a host and methods, as a shell takes
// it.
func httpFlag(host string, methods []string) string {
	usual := func(m string) bool { return m == "" || m == "GET" || m == "HEAD" }
	if slices.ContainsFunc(methods, func(m string) bool { return !usual(m) }) {
		host = strings.Join(methods, ",") + " " + host
	}
	if strings.ContainsAny(host, " *[]") {
		return "'" + host + "'"
	}
	return host
}
