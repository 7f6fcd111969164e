package run_test

import (
	"encoding/json"
	"testing"

	"github.com/wagent-dev/wagent/host/run"
)

func TestAWriteMergesAsItsRuleSays(t *testing.T) {
	for _, c := range []struct{ merge, current, value, want string }{
		{"replace", `[1]`, `2`, `2`},
		{"replace", ``, `null`, `null`},
		{"append", ``, `1`, `[1]`},
		{"append", `null`, `[1,2]`, `[1,2]`},
		{"append", `[1]`, `[2,[3]]`, `[1,2,[3]]`},
		{"append", `{"a":1}`, `2`, `[{"a":1},2]`},
		{"append", `[1]`, `null`, `[1]`},
		{"append", `[]`, `"x"`, `["x"]`},
		{"append", `[1e400]`, `12345678901234567890`, `[1e400,12345678901234567890]`},
	} {
		w := run.Write{Value: json.RawMessage(c.value), Merge: run.Merge(c.merge)}
		if got := w.Merged(json.RawMessage(c.current)); string(got) != c.want {
			t.Errorf("%s %s and %s: %s, want %s", c.merge, c.current, c.value, got, c.want)
		}
	}
}
