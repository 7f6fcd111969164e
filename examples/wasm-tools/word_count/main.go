// Word_count is a tool that counts what is in a text. It needs no grant.
package main

import "github.com/wagent-dev/wagent/sdk"

// Args is what the tool is called with.
type Args struct {
	Text string `json:"text" doc:"the text to count"`
	Top  int    `json:"top" doc:"how many of the most frequent words to list" min:"0" max:"100" default:"5"`
}

// Result is what it answers.
type Result struct {
	Words      int    `json:"words"`
	Lines      int    `json:"lines"`
	Characters int    `json:"characters"`
	Distinct   int    `json:"distinct" doc:"different words, upper and lower case being the same"`
	Top        []Word `json:"top"`
}

// Word is a word and how often it is there.
type Word struct {
	Word  string `json:"word"`
	Count int    `json:"count"`
}

func main() {}

func init() {
	sdk.Tool("word_count", "Counts the words, lines and characters of a text and lists its most frequent words.",
		func(_ *sdk.Call, a Args) (Result, error) {
			return count(a.Text, a.Top), nil
		}, sdk.Title("Word count"), sdk.ReadOnly(), sdk.Idempotent())
}
