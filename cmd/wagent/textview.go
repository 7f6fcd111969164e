package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
	"github.com/wagent-dev/wagent/host/visible"
)

// Bounds of what one line shows, in bytes.
const (
	maxArgs   = 200 // of a call's arguments
	maxReason = 400 // of an error
	maxLog    = 256 // of a line that a tool wrote
	maxDetail = 12  // lines of a failed guest's last words
	maxHint   = 1   // of those, without -v
)

// unreadReply is what people are told in the place of a tool's name.
const unreadReply = "reply that could not be read"

// view shows a run.
type view interface {
	show(run.Event) error // the error is a failed write
	broken(error) error   // the run's store or the host itself failed
	end() error           // nothing more will come
}

// textView shows a run to a person: the answer on standard output, everything
// else on standard error. On a pipe the answer is the final output alone.
type textView struct {
	scr     *screen
	style   style
	verbose bool
	quiet   bool // the answer is not shown: a program reads standard output

	said  strings.Builder // text shown since the step began
	asked string          // the model that is asked instead, in this step
	many  bool            // the step has more calls than one: lines carry ids
	calls int
	below int // calls that the agents made which were called

	of    string               // the agents that the run is nested in, before each line
	tasks string               // the same, for the ids of tasks
	inner map[run.ID]*textView // of runs that are nested in it
}

func (v *textView) show(e run.Event) error {
	switch b := e.Body.(type) {
	case run.Began:
		v.said.Reset()
		v.asked = ""
		v.scr.begin(modelTask, "waiting for the model")
	case run.Delta:
		v.delta(b)
	case run.Retried:
		v.retried(b)
	case run.Replied:
		v.replied(b)
	case run.Planned:
		v.planned(b)
	case run.Called:
		v.called(b)
	case run.Progressed:
		v.progressed(b)
	case run.Logged:
		v.logged(b)
	case run.Returned:
		v.returned(b)
	case run.Nested:
		v.nested(&b)
	case run.Finished:
		v.scr.finish(modelTask)
		v.final(b.Output)
		v.unmade(b.DroppedTools)
		v.summary(b.Result)
	case run.Failed:
		v.scr.finish(modelTask)
		v.cutShort(b.Err.Partial)
		v.unmade(b.Err.DroppedTools)
		v.summary(b.Result)
	}
	return v.scr.writeFault()
}

func (v *textView) broken(error) error { return nil }

func (v *textView) end() error {
	v.scr.close()
	return v.scr.writeFault()
}

// streams says that the answer is shown as it arrives.
func (v *textView) streams() bool { return v.scr.outTerm && !v.quiet }

func (v *textView) delta(d run.Delta) {
	if d.Reasoning != "" {
		v.scr.update(modelTask, "(it is thinking)")
		return
	}
	v.said.WriteString(d.Text)
	if v.streams() {
		v.scr.say(visible.Text(d.Text))
	}
}

func (v *textView) retried(r run.Retried) {
	// The model's error counts the attempts as well.
	why := strings.TrimSuffix(r.Error, fmt.Sprintf(", after %d attempts", r.Attempt))
	line := "model: " + visible.Line(strings.TrimPrefix(why, "model: "), maxReason)
	switch {
	case r.Model != "":
		v.asked = r.Model
		line += ": " + visible.Line(r.Model, maxLog) + " is asked instead"
	case r.WaitMS > 0:
		line += fmt.Sprintf(": attempt %d in %s", r.Attempt+1, millisText(float64(r.WaitMS)))
	default:
		line += fmt.Sprintf(": attempt %d", r.Attempt+1)
	}
	if v.streams() && v.said.Len() > 0 {
		line += "; what it said above does not count"
	}
	v.said.Reset()
	v.note(v.style.yellow("↻ ") + line)
}

func (v *textView) replied(r run.Replied) {
	v.scr.finish(modelTask)
	if v.streams() {
		v.scr.endAnswer()
	}
	v.odd(r)
}

// odd tells what was odd about a reply, but not what is told anyway: that another model
// gave it, which was told when that was asked, and that calls were dropped.
func (v *textView) odd(r run.Replied) {
	for _, w := range r.Warnings {
		instead := v.asked != "" && strings.HasPrefix(w, v.asked+" answered, ")
		if !instead && !strings.HasSuffix(w, " were cut off and dropped") {
			v.note(v.style.yellow("! ") + "model: " + visible.Line(w, maxReason))
		}
	}
	if r.Dropped > 0 {
		of := "of a reply that was cut off"
		if r.Step == 0 {
			of = "when no tool could be used any more"
		}
		v.note(v.style.yellow("! ") + "model: " + count(r.Dropped, "tool call") + " " + of + ": not run" + named(r.DroppedTools))
	}
}

// named are names of tools behind what is said of their calls.
func named(tools []string) string {
	if len(tools) == 0 {
		return ""
	}
	return " (" + visible.Line(strings.Join(tools, ", "), maxReason) + ")"
}

// unmade tells of calls that were under way in a reply that broke off.
func (v *textView) unmade(tools []string) {
	if len(tools) > 0 {
		v.note(v.style.yellow("! ") + "model: its reply broke off in a tool call: not run" + named(tools))
	}
}

// planned tells why a reply is not taken as the output; the rest of what the model is
// told is for the model.
func (v *textView) planned(p run.Planned) {
	v.many = len(p.Actions) > 1
	if why, _, _ := strings.Cut(p.Feedback, "\n"); why != "" {
		v.note(v.style.red("✗ ") + "output: " + visible.Line(why, maxReason))
	}
}

// label names a call: by its tool, and by its id where that is not enough.
func (v *textView) label(tool, id string) string {
	name := cmp.Or(visible.Line(tool, maxLog), "(no name)")
	if v.many {
		name += v.style.dim("#" + visible.Line(id, maxLog))
	}
	return name
}

func (v *textView) called(c run.Called) {
	v.calls++
	args := v.scr.fit(v.of+"→ "+v.plainLabel(c.Tool, c.CallID)+" ", compact(c.Arguments), maxArgs)
	v.note(fmt.Sprintf("%s %s %s", v.style.bold("→"), v.label(c.Tool, c.CallID), v.style.dim(args)))
	v.scr.begin(v.tasks+c.CallID, v.of+visible.Line(c.Tool, maxLog))
}

func (v *textView) progressed(p run.Progressed) {
	done := visible.Line(strings.TrimSpace(fmt.Sprintf("%d%% %s", p.Permille/10, p.Message)), maxLog)
	v.scr.update(v.tasks+p.CallID, done)
	if v.verbose && !v.scr.live {
		v.note(fmt.Sprintf("  %s: %s", v.label(p.Tool, p.CallID), done))
	}
}

func (v *textView) logged(l run.Logged) {
	if !v.verbose && l.Level != "warn" && l.Level != "error" {
		return
	}
	lines := logLines(l.Message)
	if !v.verbose && len(lines) > maxDetail {
		lines = append(lines[:maxDetail], visible.Ellipsis)
	}
	for _, line := range lines {
		v.note(fmt.Sprintf("  %s: %s: %s", v.label(l.Tool, l.CallID), visible.Line(l.Level, 16), line))
	}
}

// logLines returns the lines of a record, such as a stack. The host hands on a
// record as one line, in which it has written out the line breaks.
func logLines(message string) []string {
	message = strings.ReplaceAll(message, `\u{9}`, "  ")
	var lines []string
	for line := range strings.SplitSeq(message, `\u{a}`) {
		if line = visible.Line(strings.TrimSuffix(line, `\u{d}`), maxLog); line != "" {
			lines = append(lines, line)
		}
	}
	if lines == nil {
		return []string{""}
	}
	return lines
}

func (v *textView) returned(r run.Returned) {
	v.scr.finish(v.tasks + r.CallID)
	said := model.PartsText(r.Content)
	line := v.style.green("✓ ") + v.label(r.Tool, r.CallID)
	switch {
	case r.ErrorKind == run.KindParseError: // no tool was called: the action stands for the reply
		line = fmt.Sprintf("%s%s: %s", v.style.red("✗ "), unreadReply, visible.Line(flat(said), maxReason))
	case r.IsError:
		line = fmt.Sprintf("%s%s: %s: %s", v.style.red("✗ "), v.label(r.Tool, r.CallID),
			v.style.red(string(r.ErrorKind)), visible.Line(flat(said), maxReason))
	}
	if r.Spent != nil {
		v.below += r.Spent.ToolCalls
		line += "  " + v.style.dim(spentText(r.Spent))
	}
	if r.Receipt != nil {
		line += "  " + v.style.dim(receiptText(r.Receipt))
	}
	v.note(line)
	if v.verbose && !r.IsError {
		v.note("  " + v.style.dim(visible.Line(flat(said), maxReason)))
	}
	most := maxHint
	if v.verbose {
		most = maxDetail
	}
	for _, l := range detailLines(r.Tool, r.Detail, said, most) {
		v.note("  " + v.style.dim(l))
	}
}

// final shows the output, unless it has been shown as it arrived.
func (v *textView) final(output string) {
	if v.quiet || output == "" || (v.streams() && v.said.String() == output) {
		return
	}
	text := visible.Text(output)
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	v.scr.say(text)
}

// cutShort keeps what a model had said when it broke off.
func (v *textView) cutShort(partial string) {
	if partial == "" || v.streams() {
		return
	}
	v.note(v.style.dim("the reply broke off after: ") + visible.Line(partial, maxReason))
}

func (v *textView) summary(r *run.Result) {
	if r == nil || r.StepCount == 0 && v.calls == 0 && r.TokenUsage.TotalTokens == 0 {
		return
	}
	calls := count(v.calls, "tool call")
	if v.below > 0 {
		calls += fmt.Sprintf(" and %d by agents", v.below)
	}
	parts := []string{count(r.StepCount, "step"), calls}
	v.note(v.style.dim(strings.Join(append(parts, costsText(r.TokenUsage, r.Cost)...), ", ")))
}
