package model_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/model"
)

func TestMessagesHaveTheFormThatTheCommandPrints(t *testing.T) {
	for want, m := range map[string]model.Message{
		`{"role":"user","content":[{"type":"text","text":"<b>&"}]}`: model.Text(model.User, "<b>&"),
		`{"role":"tool","content":[{"type":"text","text":"2"}],"call_id":"c","name":"n","is_error":false}`: {
			Role: model.Tool, CallID: "c", Name: "n", Content: model.TextParts("2"),
		},
		`{"role":"assistant","content":[],"tool_calls":[{"id":"c","name":"n","arguments":{"a":1}}]}`: {
			Role: model.Assistant, Content: []model.Part{},
			ToolCalls: []model.ToolCall{{ID: "c", Name: "n", Arguments: []byte(`{"a":1}`)}},
		},
		`{"role":"user","content":[{"type":"image","mime":"image/png","data":"AQI="}]}`: {
			Role: model.User, Content: []model.Part{{Type: model.ImagePart, MIME: "image/png", Data: []byte{1, 2}}},
		},
	} {
		got, err := m.MarshalJSON()
		if err != nil || string(got) != want {
			t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
		}
		var back model.Message
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(m, back); d != "" {
			t.Error(d)
		}
	}
}

func TestMemoEncodesAMessageOnce(t *testing.T) {
	var memo model.Memo
	made := 0
	encode := func(m *model.Message) ([]byte, error) { made++; return []byte(m.Text()), nil }
	a, b := model.Text(model.User, "same"), model.Text(model.User, "same")
	for range 3 {
		for _, m := range []*model.Message{&a, &b} {
			if got, err := memo.Bytes(m, "v1", encode); err != nil || string(got) != "same" {
				t.Fatal(got, err)
			}
		}
	}
	copied := a
	if _, err := memo.Bytes(&copied, "v1", encode); err != nil {
		t.Fatal(err)
	}
	if made != 2 {
		t.Errorf("two messages were encoded %d times", made)
	}
	copied.Role = model.Assistant
	for _, variant := range []string{"v1", "v2"} {
		if _, err := memo.Bytes(&copied, variant, encode); err != nil {
			t.Fatal(err)
		}
	}
	if made != 4 {
		t.Errorf("another role and another variant made %d, want 4", made)
	}
}
