// The tools of this folder in Go, by the SDK.
package main

import (
	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/testdata/languages/counting"
)

var calls int

func main() {}

func init() {
	sdk.Tool("word_count", "Counts the words of a text.", func(_ *sdk.Call, a counting.Args) (counting.Result, error) {
		return counting.Count(a.Text), nil
	})
	sdk.Tool("counter", "Says how often this guest was called.", func(*sdk.Call, struct{}) (int, error) {
		calls++
		return calls, nil
	})
	sdk.Tool("spin", "Never ends.", func(*sdk.Call, struct{}) (int, error) {
		for {
			calls++
		}
	})
	sdk.Tool("dive", "Calls itself without an end.", func(*sdk.Call, struct{}) (int, error) {
		return dive(1), nil
	})
}

func dive(n int) int {
	if calls < 0 {
		return n
	}
	return dive(n+1)*31 ^ n
}
