package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
	"github.com/wagent-dev/wagent/host/visible"
)

// terminal is an app whose outputs are one terminal, as they are for a person.
func terminal(env map[string]string) (*app, *bytes.Buffer) {
	var tty bytes.Buffer
	return &app{streams: &streams{
		out: &tty, err: &tty, outTerm: true, errTerm: true,
		width: func() int { return 60 }, getenv: func(k string) string { return env[k] },
	}}, &tty
}

// shown is what a person sees after all of the output: erased lines are gone,
// and so are colours.
func shown(tty *bytes.Buffer) string {
	text := regexp.MustCompile(`\x1b\[[0-9]*m`).ReplaceAllString(tty.String(), "")
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if i := strings.LastIndex(line, "\r\x1b[K"); i >= 0 {
			line = line[i+len("\r\x1b[K"):]
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// play shows bodies as one run.
func play(t *testing.T, v view, bodies ...run.Body) {
	t.Helper()
	for _, b := range bodies {
		if err := v.show(run.Event{Run: "r", Body: b}); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.end(); err != nil {
		t.Fatal(err)
	}
}

func (a *app) textViewOf() *textView {
	scr := a.openScreen(a.out)
	return &textView{scr: scr, style: scr.style}
}

func TestTheAnswerStreamsToATerminalAndIsNotRepeated(t *testing.T) {
	a, tty := terminal(nil)
	play(t, a.textViewOf(),
		run.Began{Step: 1}, run.Delta{Text: "Let me "}, run.Delta{Text: "count."}, run.Replied{Step: 1},
		run.Planned{Step: 1, Actions: []run.Action{{Tool: "w", CallID: "c"}}},
		run.Called{Step: 1, CallID: "c", Tool: "w", Arguments: json.RawMessage(`{"text":"a\nb"}`)},
		run.Returned{Step: 1, CallID: "c", Tool: "w", Content: model.TextParts("2"), Receipt: &run.Receipt{WallMS: 1.5, OutputBytes: 1}},
		run.Ended{Step: 1}, run.Began{Step: 2}, run.Delta{Text: "Two "}, run.Delta{Text: "words."}, run.Replied{Step: 2}, run.Ended{Step: 2},
		run.Finished{ExitReason: run.ExitText, Output: "Two words.", Result: &run.Result{StepCount: 2}},
	)
	want := `Let me count.
→ w {"text":"a\nb"}
✓ w  1.5 ms, 0 B in, 1 B out, peak memory 0 B
Two words.
2 steps, 1 tool call
`
	if diff := cmp.Diff(want, shown(tty)); diff != "" {
		t.Error(diff)
	}
}

func TestAnOutputThatWasNotSaidIsPrintedAtTheEnd(t *testing.T) {
	a, tty := terminal(nil)
	play(t, a.textViewOf(),
		run.Began{Step: 1}, run.Delta{Text: "Counting."}, run.Replied{Step: 1},
		run.Finished{ExitReason: run.ExitReturnDirect, Output: "2"})
	if diff := cmp.Diff("Counting.\n2\n", shown(tty)); diff != "" {
		t.Error(diff)
	}
}

func TestARetryVoidsWhatWasSaid(t *testing.T) {
	a, tty := terminal(nil)
	play(t, a.textViewOf(),
		run.Began{Step: 1}, run.Delta{Text: "Half of"},
		run.Retried{Attempt: 1, WaitMS: 500, Error: "stream\nbroke off"},
		run.Delta{Text: "The whole."}, run.Replied{Step: 1},
		run.Finished{ExitReason: run.ExitText, Output: "The whole."})
	want := "Half of\n↻ model: stream\\u{a}broke off: attempt 2 in 500 ms; what it said above does not count\nThe whole.\n"
	if diff := cmp.Diff(want, shown(tty)); diff != "" {
		t.Error(diff)
	}
}

func TestARecordOfSeveralLinesIsShownAsSeveral(t *testing.T) {
	many := strings.Repeat(`x\u{a}`, 20)
	for message, want := range map[string]string{
		"one":                               "  w: error: one\n",
		`panic: no\u{d}\u{a}\u{9}main.go:1`: "  w: error: panic: no\n  w: error:   main.go:1\n",
		"":                                  "  w: error: \n",
		many:                                strings.Repeat("  w: error: x\n", maxDetail) + "  w: error: …\n",
		`a\u{1b}b`:                          "  w: error: a\\u{1b}b\n",
	} {
		a, tty := terminal(nil)
		play(t, a.textViewOf(), run.Logged{Tool: "w", Level: "error", Message: message})
		if diff := cmp.Diff(want, shown(tty)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestArgumentsAreCutAtTheWidthOfTheTerminal(t *testing.T) {
	args := json.RawMessage(`{"text":"` + strings.Repeat("日", 300) + `"}`)
	for width, want := range map[int]int{60: 60, 100: 100, 8: 6 + minFit} {
		a, tty := terminal(nil)
		a.width = func() int { return width }
		play(t, a.textViewOf(), run.Called{CallID: "c", Tool: "too", Arguments: args})
		columns := 0
		for _, r := range strings.TrimSuffix(shown(tty), "\n") {
			columns += cells(r)
		}
		// A character of two columns may not fit into the last one.
		if columns > want || columns < want-1 {
			t.Errorf("at a width of %d it takes %d columns, want %d: %s", width, columns, want, shown(tty))
		}
	}
}

func TestARunThatDidNothingHasNoSummary(t *testing.T) {
	a, tty := terminal(nil)
	play(t, a.textViewOf(), run.Failed{Err: run.Failure{Kind: "model_auth"}, Result: &run.Result{}})
	if got := shown(tty); got != "" {
		t.Errorf("it says %q", got)
	}
}

// Every text of an event that a model, a guest or a provider may have written.
func TestNoEventReachesTheTerminalRaw(t *testing.T) {
	const evil = "\x1b]0;x\x07\u009b2J\u202e\r\x00"
	bad := model.TextParts(evil)
	bodies := []run.Body{
		run.Began{Step: 1},
		run.Delta{Reasoning: evil},
		run.Delta{Text: evil},
		run.Retried{Attempt: 1, Error: evil},
		run.Replied{Step: 1, Warnings: []string{evil}, Dropped: 1, DroppedTools: []string{evil}},
		run.Planned{Step: 1, Actions: []run.Action{{Tool: evil, CallID: evil}, {Tool: evil, CallID: "d"}}},
		run.Called{CallID: evil, Tool: evil, Arguments: json.RawMessage(`"` + evil + `"`)},
		run.Progressed{CallID: evil, Tool: evil, Message: evil},
		run.Logged{CallID: evil, Tool: evil, Level: evil, Message: evil},
		run.Logged{CallID: evil, Tool: evil, Level: "error", Message: evil},
		run.Returned{CallID: evil, Tool: evil, Content: bad, Receipt: &run.Receipt{Hosts: []string{evil}}},
		run.Returned{CallID: evil, Tool: evil, Content: bad, IsError: true, ErrorKind: run.KindTrap, Detail: evil + "\n" + evil},
		run.Failed{Err: run.Failure{Message: evil, Partial: evil, DroppedTools: []string{evil}}},
		run.Finished{ExitReason: run.ExitReason(evil), Output: evil},
	}
	for _, b := range slices.Clip(bodies) {
		one := nestedIn(evil, evil, b)
		bodies = append(bodies, one, nestedIn(evil, evil, one))
	}
	for _, verbose := range []bool{false, true} {
		for _, term := range []bool{false, true} {
			a, tty := terminal(map[string]string{"NO_COLOR": "1"})
			a.outTerm = term
			v := a.textViewOf()
			v.verbose = verbose
			play(t, v, bodies...)
			a.complain(failureText(&run.Failure{Kind: evil, Tool: evil, Message: evil}))
			a.complain(stopText(run.ExitReason(evil), &run.Result{}, 0))
			if i := strings.IndexFunc(strings.ReplaceAll(tty.String(), "\n", " "), visible.Hidden); i >= 0 {
				t.Errorf("verbose %v, terminal %v: raw text at %d of %q", verbose, term, i, tty)
			}
		}
	}
}

// nestedIn is an event of the run of an agent that a call runs.
func nestedIn(tool, call string, b run.Body) run.Nested {
	return run.Nested{CallID: call, Tool: tool, Event: run.Event{Run: run.ID("r." + call), Body: b}}
}

func TestWhatAnAgentDoesIsShownUnderItsName(t *testing.T) {
	a, tty := terminal(map[string]string{"NO_COLOR": "1"})
	v := a.textViewOf()
	call := func(tool string) run.Called {
		return run.Called{CallID: "call_1_1", Tool: tool, Arguments: json.RawMessage(`{}`)}
	}
	back := func(tool string) run.Returned { return run.Returned{CallID: "call_1_1", Tool: tool} }
	play(t, v,
		run.Planned{Actions: make([]run.Action, 2)},
		nestedIn("asker", "call_1_1", run.Began{Step: 1}),
		nestedIn("asker", "call_1_1", run.Delta{Text: "what it says is its caller's to tell"}),
		nestedIn("asker", "call_1_1", run.Planned{Actions: make([]run.Action, 1)}),
		nestedIn("asker", "call_1_1", call("count")),
		nestedIn("asker", "call_1_2", call("count")),
		nestedIn("asker", "call_1_1", run.Logged{CallID: "call_1_1", Tool: "count", Level: "warn", Message: "slow"}),
		nestedIn("asker", "call_1_1", nestedIn("deep", "call_1_1", call("find"))),
		nestedIn("asker", "call_1_1", nestedIn("deep", "call_1_1", back("find"))),
		nestedIn("asker", "call_1_1", run.Retried{Attempt: 1, Error: "status 503"}),
		nestedIn("asker", "call_1_1", back("count")),
		nestedIn("asker", "call_1_2", back("count")),
		nestedIn("asker", "call_1_1", run.Failed{Err: run.Failure{Message: "its caller tells of it"}}),
		run.Finished{Output: "the answer"},
	)
	want := `asker#call_1_1 › → count {}
asker#call_1_2 › → count {}
asker#call_1_1 ›   count: warn: slow
asker#call_1_1 › deep › → find {}
asker#call_1_1 › deep › ✓ find
asker#call_1_1 › ↻ model: status 503: attempt 2
asker#call_1_1 › ✓ count
asker#call_1_2 › ✓ count
the answer
`
	if d := cmp.Diff(want, shown(tty)); d != "" {
		t.Error(d)
	}
	if len(v.inner) != 1 {
		t.Errorf("%d runs are kept in mind, want the one that has not ended", len(v.inner))
	}
}

func TestWhatWasOddAboutAReplyIsToldOnce(t *testing.T) {
	a, tty := terminal(map[string]string{"NO_COLOR": "1"})
	a.outTerm = false
	instead := run.Replied{Step: 1, Warnings: []string{"b answered, since others gave up: a: no", "it is odd"}}
	play(t, a.textViewOf(),
		run.Began{Step: 1},
		run.Retried{Attempt: 1, Error: "no", Model: "b"},
		instead,
		run.Began{Step: 2},
		run.Replied{Warnings: []string{"it is odd", "1 tool calls were cut off and dropped"}, Dropped: 1},
		run.Replied{Step: 3, Dropped: 2, DroppedTools: []string{"read", "(no name)"}},
		run.Returned{IsError: true, ErrorKind: run.KindUnknownTool, Content: model.TextParts("There is no tool")},
		nestedIn("asker", "call_1_1", run.Began{Step: 1}),
		nestedIn("asker", "call_1_1", run.Retried{Attempt: 1, Error: "no", Model: "b"}),
		nestedIn("asker", "call_1_1", instead),
		nestedIn("asker", "call_1_1", run.Failed{Err: run.Failure{DroppedTools: []string{"read"}}}),
		run.Finished{ExitReason: run.ExitInterrupted, DroppedTools: []string{"write"}},
	)
	want := `↻ model: no: b is asked instead
! model: it is odd
! model: it is odd
! model: 1 tool call when no tool could be used any more: not run
! model: 2 tool calls of a reply that was cut off: not run (read, (no name))
✗ (no name): unknown_tool: There is no tool
asker › ↻ model: no: b is asked instead
asker › ! model: it is odd
asker › ! model: its reply broke off in a tool call: not run (read)
! model: its reply broke off in a tool call: not run (write)
`
	if d := cmp.Diff(want, shown(tty)); d != "" {
		t.Error(d)
	}
}

func TestTheLastLineTellsWhatARunTook(t *testing.T) {
	for want, usage := range map[string]model.Usage{
		"2 steps, 0 tool calls, 30 tokens, cost 0.04\n":       {TotalTokens: 30},
		"2 steps, 0 tool calls, about 30 tokens, cost 0.04\n": {TotalTokens: 30, Estimated: true},
	} {
		a, tty := terminal(map[string]string{"NO_COLOR": "1"})
		play(t, a.textViewOf(), run.Finished{Result: &run.Result{StepCount: 2, TokenUsage: usage, Cost: 0.04}})
		if d := cmp.Diff(want, shown(tty)); d != "" {
			t.Error(d)
		}
	}
}

func TestACostIsANumberThatPeopleRead(t *testing.T) {
	for cost, want := range map[float64]string{
		0: "0", 0.0000045: "0.0000045", 0.0005: "0.0005", 0.04: "0.04", 0.123456: "0.1235",
		1: "1", 2.5: "2.5", 10: "10", 100: "100", 12345.678: "12345.68",
	} {
		if got := costText(cost); got != want {
			t.Errorf("%g is %s, want %s", cost, got, want)
		}
	}
}

func TestWhatAServerSaysOfItsModelHasAdvice(t *testing.T) {
	for said, want := range map[string]string{
		"HTTP 400: gemma:2b does not support tools":                                                        "--planner",
		"HTTP 404: No endpoints found that support tool use":                                               "--planner",
		`HTTP 400: "auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`: "--planner",
		"HTTP 500: tools param requires --jinja flag":                                                      "--planner",
		"HTTP 500: image input is not supported":                                                           "model.compat.images: false",
		"HTTP 400: this model is missing data required for image input":                                    "model.compat.images: false",
		"HTTP 400: m is not a multimodal model":                                                            "model.compat.images: false",
		"HTTP 400: unknown variant `image_url`, expected `text`":                                           "model.compat.images: false",
		"HTTP 404: there is no model m":                                                                    "check model.name",
	} {
		kind := "model_rejected"
		if strings.HasPrefix(said, "HTTP 500") {
			kind = "model_unreachable"
		}
		if got := failureText(&run.Failure{Kind: kind, Message: "model: " + said}); !strings.HasPrefix(got, "model: "+said+": ") || !strings.Contains(got, want) {
			t.Errorf("%s\nwant advice with %s", got, want)
		}
	}
	if got := failureText(&run.Failure{Kind: "model_rejected", Message: "model: HTTP 400: bad"}); got != "model: HTTP 400: bad" {
		t.Errorf("%s\nwant no advice", got)
	}
}

func TestTheLiveLineTellsWhatRunsAndForHowLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, tty := terminal(nil)
		v := a.textViewOf()
		for _, b := range []run.Body{
			run.Planned{Actions: make([]run.Action, 2)},
			run.Called{CallID: "1", Tool: "slow", Arguments: json.RawMessage("{}")},
			run.Called{CallID: "2", Tool: "fast", Arguments: json.RawMessage("{}")},
			run.Progressed{CallID: "1", Permille: 420, Message: "half way"},
		} {
			if err := v.show(run.Event{Body: b}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(1200 * time.Millisecond) // in the bubble's time: eleven redraws
		synctest.Wait()
		if !strings.HasSuffix(shown(tty), " slow 42% half way 1.2s · fast 1.2s") {
			t.Errorf("the last line is %q", shown(tty))
		}
		play(t, v, run.Returned{CallID: "2", Tool: "fast"}, run.Returned{CallID: "1", Tool: "slow"})
		if got := shown(tty); strings.Contains(got, "half way") || !strings.HasSuffix(got, "✓ slow#1\n") {
			t.Errorf("the screen ends as %q", got)
		}
	})
}

func TestThereIsNoLiveLineWithoutATerminalThatTakesOne(t *testing.T) {
	for name, change := range map[string]func(*app){
		"pipe":       func(a *app) { a.errTerm = false },
		"NO_COLOR":   func(a *app) { a.getenv = func(k string) string { return map[string]string{"NO_COLOR": "1"}[k] } },
		"dumb":       func(a *app) { a.getenv = func(k string) string { return map[string]string{"TERM": "dumb"}[k] } },
		"--no-color": func(a *app) { a.noColor = true },
	} {
		synctest.Test(t, func(t *testing.T) {
			a, tty := terminal(nil)
			change(a)
			scr := a.openScreen(a.out)
			scr.begin("1", "tool")
			time.Sleep(time.Second) // in the bubble's time
			scr.note(scr.style.red("line"))
			scr.close()
			if diff := cmp.Diff("line\n", tty.String()); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		})
	}
}

func TestTheLiveLineNeverWraps(t *testing.T) {
	for in, want := range map[string]string{
		"short":       "short",
		"exactly ten": "exactly t…",
		"0123456789":  "0123456789",
		"日本日本日":       "日本日本日",
		"日本日本日本":      "日本日本…",
		"a日本日本日本":     "a日本日本…",
		"🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂": "🙂🙂🙂🙂…",
	} {
		if got := crop(in, 10); got != want {
			t.Errorf("crop(%q) is %q, want %q", in, got, want)
		}
	}
}

func TestAPipeGetsTheFinalOutputAlone(t *testing.T) {
	var out, errs bytes.Buffer
	a := &app{streams: &streams{out: &out, err: &errs, width: func() int { return 0 }, getenv: func(string) string { return "" }}}
	play(t, a.textViewOf(),
		run.Began{Step: 1}, run.Delta{Text: "Let me see."}, run.Replied{Step: 1},
		run.Began{Step: 2}, run.Delta{Text: "Two."}, run.Replied{Step: 2},
		run.Finished{ExitReason: run.ExitText, Output: "Two."})
	if diff := cmp.Diff([]string{"Two.\n", ""}, []string{out.String(), errs.String()}); diff != "" {
		t.Error(diff)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestAnAnswerThatCannotBeWrittenIsAnError(t *testing.T) {
	a, _ := terminal(nil)
	a.out = fullDisk{}
	v := a.textViewOf()
	err := v.show(run.Event{Body: run.Delta{Text: "x"}})
	if err == nil || !strings.Contains(err.Error(), "no space") {
		t.Errorf("error is %v", err)
	}
	if err := v.end(); err == nil {
		t.Error("the end forgets it")
	}
}
