package main

import (
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/sdk/abi"
	"github.com/wagent-dev/wagent/sdk/sdktest"
)

// Most modes end only in the sandbox, where TestEachModeIsStoppedAndTheNextCallWorks
// has them. Here are those that end by themselves.
func TestEveryModeIsThere(t *testing.T) {
	for _, mode := range []string{"loop", "memory", "output", "log", "stack", "panic", "network", "file"} {
		if modes()[mode] == nil {
			t.Errorf("there is no mode %s", mode)
		}
	}
	if got := sdktest.Call(t, "runaway", `{"mode":"sleep"}`); got.Error == nil || got.Error.Kind != abi.Input {
		t.Errorf("got %+v", got)
	}
}

func TestWhatComesBackIsTold(t *testing.T) {
	if got := sdktest.Call(t, "runaway", `{"mode":"panic"}`); got.Error == nil || !strings.Contains(got.Error.Message, "this tool has a bug") {
		t.Errorf("got %+v", got.Error)
	}
	if got := sdktest.Call(t, "runaway", `{"mode":"network"}`, sdktest.Denied("add a line")); got.Error == nil || got.Error.Message != "add a line" {
		t.Errorf("got %+v", got.Error)
	}
	if got := sdktest.Call(t, "runaway", `{"mode":"output"}`); len(got.Text()) < 10_000_000 {
		t.Errorf("the output has %d bytes", len(got.Text()))
	}
}
