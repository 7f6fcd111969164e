package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
	"github.com/wagent-dev/wagent/host/visible"
)

func TestJSONIsTheSameValueAndNothingInItIsHidden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runes := rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\x1b\x7f\u0085\u009b\u202e\u2028\ufeff\U000e0041\U000e0100 ")))
		in := map[string]any{"text": rapid.StringOf(runes).Draw(t, "text")}
		var buf bytes.Buffer
		if err := writeJSON(&buf, in); err != nil {
			t.Fatal(err)
		}
		text := strings.TrimSuffix(buf.String(), "\n")
		if i := strings.IndexFunc(text, visible.Hidden); i >= 0 {
			t.Fatalf("%q hides something at %d", text, i)
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(in, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// events are the first ones of a run.
func events(bodies ...run.Body) []run.Event {
	var out []run.Event
	for i, b := range bodies {
		out = append(out, run.Event{Run: "r", Seq: uint64(i + 1), Time: time.Unix(1, 0).UTC(), Body: b})
	}
	return out
}

func TestARunWhoseStoreFailedStillHasAResult(t *testing.T) {
	said := model.Text(model.Assistant, "so far")
	for _, lines := range []bool{false, true} {
		var buf bytes.Buffer
		v := &jsonView{w: &buf, lines: lines}
		for _, e := range events(run.Prompted{Messages: []model.Message{model.Text(model.User, "hi")}}, run.Began{Step: 1}, run.Replied{Step: 1, Message: &said}) {
			if err := v.show(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(v.broken(errors.New("disk\nfull")), v.end()); err != nil {
			t.Fatal(err)
		}
		all := strings.Split(strings.TrimSpace(buf.String()), "\n")
		last := []byte(all[len(all)-1])
		var event struct {
			Seq    uint64
			Type   string
			Result *run.Result
		}
		got := new(run.Result)
		if lines {
			if err := json.Unmarshal(last, &event); err != nil {
				t.Fatal(err)
			}
			got = event.Result
		} else if err := json.Unmarshal(last, got); err != nil {
			t.Fatal(err)
		}
		want := &run.Failure{Kind: run.FailStore, Message: "disk full"}
		if diff := cmp.Diff(want, got.Error); diff != "" || got.ExitReason != run.ExitError || len(got.Messages) != 2 {
			t.Errorf("lines %v: %s\n%s", lines, diff, buf.String())
		}
		if lines && (event.Seq != 4 || event.Type != "run_failed") {
			t.Errorf("the last event is %s", last)
		}
	}
}

func TestAFaultOfTheHostIsNotTheStores(t *testing.T) {
	if got := brokenRun(fmt.Errorf("%w: x", run.ErrOrder)).Kind; got != run.FailInternal {
		t.Errorf("kind is %s", got)
	}
}
