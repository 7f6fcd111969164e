package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/host/visible"
)

// yamlWord is one word of a rule, as the host writes it: plain or in quotes.
const yamlWord = `(?:"(?:[^"\\]|\\.)*"|[A-Za-z0-9.-]+)`

// allowHTTP finds the rule in a refusal that names the line which would allow it.
var (
	allowHTTP = regexp.MustCompile(`allow\.http: - \{host: (` + yamlWord + `)` +
		`(?:, methods: \[(` + yamlWord + `(?:, ` + yamlWord + `)*)\])?` +
		`(?:, paths: \[(` + yamlWord + `(?:, ` + yamlWord + `)*)\])?\}`)
	yamlWords = regexp.MustCompile(yamlWord)
)

// withFlag adds to a refusal the flag of tools call that would allow it: what it
// names is a line of a manifest, and here there is none.
func withFlag(text string, t *manifest.Tool) string {
	if flag := flagFor(text, t); flag != "" {
		return text + " (" + flag + ")"
	}
	return text
}

func flagFor(text string, t *manifest.Tool) string {
	if flag := flagOfRule(text); flag != "" {
		return flag
	}
	switch {
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

// flagOfRule is the flag for the rule that a refusal names, "" for none: the grant
// that --suggest would print. The words come by way of the guest, and a person
// pastes what is made of them into a shell: so they have to be a rule, and one that
// can be seen, and they are quoted.
func flagOfRule(text string) string {
	found := allowHTTP.FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	hosts, methods, paths := unquoted(found[1]), unquoted(found[2]), unquoted(found[3])
	if len(hosts) != 1 {
		return ""
	}
	r, err := policy.ParseHTTPRule(hosts[0], methods, paths)
	if err != nil {
		return ""
	}
	var flags []string
	for _, value := range httpFlags(manifest.HTTPRule{Host: r.HostPort(), Methods: r.Methods, Paths: r.Paths}) {
		if strings.ContainsFunc(value, visible.Hidden) {
			return ""
		}
		flags = append(flags, "--allow-http "+shellWord(value))
	}
	return strings.Join(flags, " ")
}

// unquoted are the words of a list.
func unquoted(list string) []string {
	words := yamlWords.FindAllString(list, -1)
	for i, w := range words {
		if plain, err := strconv.Unquote(w); err == nil {
			words[i] = plain
		}
	}
	return words
}

// httpFlags are the values of --allow-http that grant what a rule does, one for
// each of its paths.
func httpFlags(r manifest.HTTPRule) []string {
	origin := r.Host
	if len(r.Methods) > 0 {
		origin = strings.Join(r.Methods, ",") + " " + origin
	}
	if len(r.Paths) == 0 {
		return []string{origin}
	}
	values := slices.Clone(r.Paths)
	for i, p := range values {
		values[i] = origin + p
	}
	return values
}
