package main

import (
	"strings"

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

// detailLines returns the last words of a guest that failed, ready to print.
func detailLines(detail string) []string {
	detail = strings.TrimSpace(detail)
	if detail == "" {
		return nil
	}
	lines := strings.Split(detail, "\n")
	cut := len(lines) - maxDetail
	if cut > 0 {
		lines = lines[cut:]
	}
	out := make([]string, 0, len(lines)+1)
	if cut > 0 {
		out = append(out, "… "+count(cut, "line")+" before")
	}
	for _, l := range lines {
		out = append(out, visible.Line(strings.TrimRight(l, "\r"), maxReason))
	}
	return out
}
