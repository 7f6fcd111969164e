package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/model"
)

// stuck is a model that calls b, and as b answers when it is let go.
type stuck struct {
	asked chan struct{} // has an item for each time that b was asked
	free  chan struct{}
}

func (s stuck) Generate(ctx context.Context, req *model.Request, _ func(model.Chunk)) (*model.Reply, error) {
	if len(req.Tools) > 0 && req.Messages[len(req.Messages)-1].Role == model.User {
		call := model.ToolCall{Name: "b", Arguments: json.RawMessage(`{"prompt":"x"}`)}
		return &model.Reply{Finish: model.FinishToolCalls, Message: model.Message{Role: model.Assistant, ToolCalls: []model.ToolCall{call}}}, nil
	}
	if len(req.Tools) == 0 {
		s.asked <- struct{}{}
		select {
		case <-s.free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return &model.Reply{Finish: model.FinishStop, Message: model.Text(model.Assistant, "done")}, nil
}

// To resume a run that is under way would call what is called a second time, and take
// the run from whoever waits for it.
func TestARunThatIsUnderWayIsNotResumed(t *testing.T) {
	m := stuck{make(chan struct{}, 9), make(chan struct{})}
	h := family(t, map[string]string{
		"wagent.yaml": "version: 1\nname: a\nmodel: {name: m}\ntools: [{agent: ./b.yaml}]\n",
		"b.yaml":      "version: 1\nname: b\nmodel: {name: m}\n",
	}, host.Options{Model: m})
	in := host.Text("go")
	in.ID = "r"
	ended := make(chan error, 1)
	go func() {
		var failed error
		for _, err := range h.Run(context.Background(), in) {
			failed = errors.Join(failed, err)
		}
		ended <- failed
	}()
	<-m.asked
	var got error
	for _, err := range h.Resume(t.Context(), "r") {
		got = errors.Join(got, err)
	}
	if !errors.Is(got, host.ErrRunning) {
		t.Errorf("resumed: %v", got)
	}
	close(m.free)
	if err := <-ended; err != nil {
		t.Errorf("the run itself: %v", err)
	}
	for _, err := range h.Resume(t.Context(), "r") {
		if err != nil {
			t.Errorf("resumed after its end: %v", err)
		}
	}
}
