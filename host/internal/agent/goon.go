package agent

import (
	"math"
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
)

// A reply that is only text does not end every run: where text is no exit condition the
// model is asked again. Many providers take no conversation in which the assistant has
// the last word, or speaks twice, so it is sent a message of the user behind such a
// reply. That is sent and not stored: the conversation holds what was said.

// goesOnAfterText says that a reply which is only text does not end the run.
func (d *driver) goesOnAfterText() bool { return len(d.Tools) > 0 && !d.exitsOn(exitText) }

// unfinished is what the model is told when its text did not end the run. It is one value,
// so that what is kept of it is found again.
func (d *driver) unfinished() model.Message {
	if d.notDone.Content == nil {
		d.notDone = model.Text(model.User, "The work is not finished: an answer in text does not end it. "+d.howToEnd())
	}
	return d.notDone
}

func (d *driver) howToEnd() string {
	names := d.endingTools()
	switch len(names) {
	case 0:
		return "Go on with the tools."
	case 1:
		return "Go on with the tools, and end it with the tool " + names[0] + "."
	}
	return "Go on with the tools, and end it with one of these: " + strings.Join(names, ", ") + "."
}

// endingTools are the tools by which the run can end, as many as an error names.
func (d *driver) endingTools() []string {
	var names []string
	for i := range d.Tools {
		t := &d.Tools[i]
		if name := t.Definition.Name; t.ReturnDirect || name != exitText && slices.Contains(d.Exit, name) {
			names = append(names, name)
		}
	}
	if d.strategy() == ByTool {
		names = append(names, d.outputName)
	}
	return names[:min(len(names), maxNames)]
}

// conversation is what the planner makes a request of.
func (d *driver) conversation(final bool) *planner.Conversation {
	shown := d.shownMessages()
	c := &planner.Conversation{Messages: d.briefed(shown), Tools: d.offered(), Final: final, Cache: &d.wrote}
	d.history.own = math.MaxInt
	if !d.goesOnAfterText() {
		return c
	}
	said := d.unfinished()
	c.GoOn = said.Text()
	if _, native := d.Planner.(planner.Tools); native { // the others have the user speak last themselves
		d.history.own, d.history.between = d.state.Given+len(c.Messages)-len(shown), said
	}
	return c
}
