// Keeper is a module whose tools keep notes in the store of a run.
package main

import (
	"fmt"
	"strings"

	"github.com/wagent-dev/wagent/sdk"
)

// Note is something to keep.
type Note struct {
	Name string `json:"name"`
	Text string `json:"text,omitempty"`
}

// Fill says how much to keep.
type Fill struct {
	Keys  int `json:"keys"`
	Bytes int `json:"bytes,omitempty"` // of each value
}

func main() {}

func init() {
	asks := sdk.Requests{KV: true, Reason: "keeps notes between calls"}
	sdk.Tool("keep", "Keeps a note.", func(c *sdk.Call, a Note) (string, error) {
		return "kept", sdk.KVSet(c, a.Name, []byte(a.Text))
	}, asks)
	sdk.Tool("recall", "Says what a note was.", func(c *sdk.Call, a Note) (string, error) {
		text, err := sdk.KVGet(c, a.Name)
		return string(text), err
	}, asks)
	sdk.Tool("forget", "Forgets a note.", func(c *sdk.Call, a Note) (string, error) {
		return "forgotten", sdk.KVDelete(c, a.Name)
	}, asks)
	sdk.Tool("names", "Lists the notes.", func(c *sdk.Call, a Note) (string, error) {
		names, err := sdk.KVList(c, a.Name)
		return fmt.Sprintf("%q", names), err
	}, asks)
	sdk.Tool("fill", "Keeps many notes, and counts those that are there.", func(c *sdk.Call, a Fill) (string, error) {
		for i := range a.Keys {
			if err := sdk.KVSet(c, fmt.Sprintf("note/%05d", i), []byte(strings.Repeat("x", a.Bytes))); err != nil {
				return "", err
			}
		}
		names, err := sdk.KVList(c, "note/")
		return fmt.Sprint(len(names), " notes"), err
	}, asks)
}
