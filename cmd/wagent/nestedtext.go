package main

import "github.com/wagent-dev/wagent/host/run"

// note prints a line on standard error, under the agents that the run is nested in.
func (v *textView) note(line string) { v.scr.note(v.of + line) }

// nested shows what an agent that is a tool does: its calls and what goes wrong, not
// what its model says.
func (v *textView) nested(n *run.Nested) {
	in := v.inner[n.Event.Run]
	if in == nil {
		in = &textView{scr: v.scr, style: v.style, verbose: v.verbose, quiet: true, tasks: v.tasks + n.CallID + "/"}
		in.of = v.of + v.plainLabel(n.Tool, n.CallID) + " › "
		if v.inner == nil {
			v.inner = make(map[run.ID]*textView)
		}
		v.inner[n.Event.Run] = in
	}
	switch b := n.Event.Body.(type) {
	case run.Began:
		in.asked = ""
	case run.Replied:
		in.odd(b)
	case run.Planned:
		in.planned(b)
	case run.Called:
		in.called(b)
	case run.Progressed:
		in.progressed(b)
	case run.Logged:
		in.logged(b)
	case run.Returned:
		in.returned(b)
	case run.Retried:
		in.retried(b)
	case run.Nested:
		in.nested(&b)
	case run.Finished:
		in.unmade(b.DroppedTools)
		delete(v.inner, n.Event.Run)
	case run.Failed:
		in.unmade(b.Err.DroppedTools)
		delete(v.inner, n.Event.Run)
	}
}

// plainLabel is label without colours.
func (v *textView) plainLabel(tool, id string) string {
	plain := textView{many: v.many}
	return plain.label(tool, id)
}
