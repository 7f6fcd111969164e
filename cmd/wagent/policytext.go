package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/host/visible"
)

// limitsJSON are limits as programs read them: bytes and milliseconds.
type limitsJSON struct {
	Memory       int64 `json:"memory_bytes"`
	TimeoutMS    int64 `json:"timeout_ms"`
	Fuel         int64 `json:"fuel,omitempty"`
	Output       int64 `json:"output_bytes"`
	Logs         int64 `json:"logs_bytes"`
	HTTPResponse int64 `json:"http_response_bytes"`
	HTTPRequests int   `json:"http_requests"`
	KV           int64 `json:"kv_bytes"`
	FileBytes    int64 `json:"file_bytes"`
	FileCount    int   `json:"file_count"`
	FilesOpen    int   `json:"files_open"`
}

func limitsOf(l policy.Limits) limitsJSON {
	return limitsJSON{
		Memory: l.Memory, TimeoutMS: l.Timeout.Milliseconds(), Fuel: l.Fuel, Output: l.Output, Logs: l.Logs,
		HTTPResponse: l.HTTPResponse, HTTPRequests: l.HTTPRequests, KV: l.KV,
		FileBytes: l.Files.Bytes, FileCount: l.Files.Count, FilesOpen: l.Files.Open,
	}
}

// grantsJSON are grants as programs read them; what is absent is denied.
type grantsJSON struct {
	HTTP            []string          `json:"http,omitempty"`
	PrivateNetworks bool              `json:"private_networks,omitempty"`
	Read            map[string]string `json:"read,omitempty"` // host folder: guest folder
	Write           map[string]string `json:"write,omitempty"`
	KV              bool              `json:"kv,omitempty"`
	Env             []string          `json:"env,omitempty"`     // names only
	Secrets         []string          `json:"secrets,omitempty"` // where each goes, by its name
	Clock           string            `json:"clock"`
	Random          string            `json:"random"`
}

func grantsOf(g policy.Grants) grantsJSON {
	j := grantsJSON{
		PrivateNetworks: g.PrivateNetworks, Read: folders(g.Read), Write: folders(g.Write),
		Env: slices.Sorted(maps.Keys(g.Env)), KV: g.KV, Clock: "real", Random: "real",
	}
	for _, r := range g.HTTP {
		j.HTTP = append(j.HTTP, r.String())
	}
	for _, s := range g.Secrets {
		j.Secrets = append(j.Secrets, s.String())
	}
	if g.Clock.Coarse {
		j.Clock = "coarse"
	}
	if !g.Clock.Fixed.IsZero() {
		j.Clock = "fixed:" + g.Clock.Fixed.Format(time.RFC3339Nano)
	}
	if g.Random.Seeded {
		j.Random = fmt.Sprintf("seed:%d", g.Random.Seed)
	}
	return j
}

func folders(ms []policy.Mount) map[string]string {
	if len(ms) == 0 {
		return nil
	}
	out := make(map[string]string, len(ms))
	for _, m := range ms {
		out[m.Host] = m.Guest
	}
	return out
}

func limitsText(l policy.Limits) string {
	s := fmt.Sprintf("memory %s, timeout %s, output %s, logs %s",
		bytesText(l.Memory), durationText(l.Timeout), bytesText(l.Output), bytesText(l.Logs))
	if l.Fuel > 0 {
		s += fmt.Sprintf(", fuel %d", l.Fuel)
	}
	return s
}

// grantsText says what is open; what is not said is denied.
func grantsText(g policy.Grants) string {
	var parts []string
	for _, r := range g.HTTP {
		parts = append(parts, "http "+visible.Line(r.String(), maxReason))
	}
	if g.PrivateNetworks {
		parts = append(parts, "private networks")
	}
	for _, m := range g.Read {
		parts = append(parts, "read "+visible.Line(m.Host+" as "+m.Guest, maxReason))
	}
	for _, m := range g.Write {
		parts = append(parts, "write "+visible.Line(m.Host+" as "+m.Guest, maxReason))
	}
	for _, name := range slices.Sorted(maps.Keys(g.Env)) {
		parts = append(parts, "env "+visible.Line(name, maxArgs))
	}
	if g.KV {
		parts = append(parts, "kv")
	}
	for _, s := range g.Secrets {
		parts = append(parts, "secret "+visible.Line(s.Name+" in "+s.Header+" to "+s.Origin(), maxReason))
	}
	if j := grantsOf(g); j.Clock != "real" || j.Random != "real" {
		parts = append(parts, "clock "+j.Clock, "random "+j.Random)
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, "; ")
}
