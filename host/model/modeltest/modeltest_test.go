package modeltest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openScript(_ testing.TB, turns ...modeltest.Turn) model.Model { return modeltest.New(turns...) }

func TestScriptIsAModel(t *testing.T) {
	modeltest.Run(t, openScript)
	modeltest.RunFailures(t, openScript)
}

func TestScriptKeepsWhatItWasAsked(t *testing.T) {
	s := modeltest.New(modeltest.Text("a"), modeltest.Text("b"))
	req := modeltest.Hello()
	for range 2 {
		if _, err := s.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		req.Messages[0].Content[0].Text = "changed"
	}
	asked := s.Requests()
	if len(asked) != 2 || s.Count() != 2 {
		t.Fatalf("requests = %d, count = %d", len(asked), s.Count())
	}
	if got := asked[0].Messages[0].Text(); got != "hello" {
		t.Errorf("first request = %q, changed afterwards", got)
	}
}
