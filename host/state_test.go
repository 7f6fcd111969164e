package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/model/modeltest"
)

// A field of a result that no tool says it has is a slip of the pen, and would write
// nothing without a word.
func TestAFieldThatNoResultHasIsAFaultOfItsEntry(t *testing.T) {
	for field, want := range map[string]string{"words": "", "wrods": `tools[0]: outputs_to_state: no tool of the module has a field "wrods" in its result`} {
		yaml := "version: 1\nname: a\nmodel: {name: m}\nagent: {state: {a: {}}}\ntools:\n  - module: ./word_count.wasm\n    outputs_to_state: {a: {from: " + field + "}}\n"
		h, err := host.Open(t.Context(), write(t, yaml), &host.Options{Model: modeltest.New(), CacheDir: cache.Dir(t)})
		if h != nil {
			if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", field, err)
		}
	}
}
