package planner

import "strings"

// afterThinking returns a reply without the thinking that some servers leave in
// front of it: what is in <think> is not said. When the mark has no end, nothing
// is.
func afterThinking(text string) string {
	const open, end = "<think>", "</think>"
	rest, opened := strings.CutPrefix(strings.TrimLeft(text, " \t\r\n"), open)
	if opened {
		_, said, _ := strings.Cut(rest, end)
		return said
	}
	before, said, ended := strings.Cut(text, end)
	if ended && !strings.Contains(before, open) && (said == "" || said[0] == '\n' || said[0] == '\r') {
		return said // the mark was in the model's template
	}
	return text
}
