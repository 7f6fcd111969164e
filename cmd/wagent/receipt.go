package main

import (
	"strconv"
	"strings"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
	"github.com/wagent-dev/wagent/host/visible"
)

// receiptText says on one line what a call cost and touched.
func receiptText(r *run.Receipt) string {
	parts := []string{
		millisText(r.WallMS),
		bytesText(r.InputBytes) + " in",
		bytesText(r.OutputBytes) + " out",
		"peak memory " + bytesText(r.PeakMemoryBytes),
	}
	if r.Fuel > 0 {
		parts = append(parts, "fuel "+strconv.FormatInt(r.Fuel, 10))
	}
	if r.LogBytes > 0 {
		logs := bytesText(r.LogBytes) + " of logs"
		if r.LogsCut {
			logs += " (cut)"
		}
		parts = append(parts, logs)
	}
	if len(r.Hosts) > 0 {
		parts = append(parts, "reached "+visible.Line(strings.Join(r.Hosts, " "), maxReason))
	}
	return strings.Join(parts, ", ")
}

// spentText says on one line what the run of an agent took.
func spentText(s *run.Spent) string {
	var parts []string
	if s.WallMS > 0 {
		parts = append(parts, millisText(s.WallMS))
	}
	parts = append(parts, count(s.ToolCalls, "tool call"))
	return strings.Join(append(parts, costsText(s.Usage, s.Cost)...), ", ")
}

// costsText says what model calls came to, as far as that is known.
func costsText(u model.Usage, cost float64) []string {
	var parts []string
	if n := u.TotalTokens; n > 0 {
		tokens := count(int(n), "token")
		if u.Estimated {
			tokens = "about " + tokens
		}
		parts = append(parts, tokens)
	}
	if cost > 0 {
		parts = append(parts, "cost "+costText(cost))
	}
	return parts
}

// detailLines returns the first most lines of what a failed guest left, ready to
// print, without those that are in what was said already. Each begins with the name
// of the tool, so that it is not taken for the host's.
func detailLines(tool, detail, said string, most int) []string {
	said = flat(said)
	var out []string
	n := 0
	for l := range strings.Lines(strings.ReplaceAll(detail, "\t", "  ")) {
		if strings.TrimSpace(l) == "" {
			continue
		}
		if n++; n > most {
			break
		}
		if strings.Contains(said, flat(l)) {
			continue
		}
		out = append(out, visible.Line(tool, maxLog)+": "+visible.Line(strings.TrimRight(l, "\r\n"), maxLog))
	}
	return out
}

// flat puts text on one line.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }
