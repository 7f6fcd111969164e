// Package toolsearch finds tools by words: BM25 over their names and descriptions.
//
// What is searched was written by strangers, and what is searched for by a model.
// Both are bounded, an index takes time that grows with its text alone, and the
// same index gives the same answer to the same query anywhere.
//
//	x := toolsearch.New([]toolsearch.Tool{{Name: "read_file", Description: "Reads a file."}})
//	for _, i := range x.Search("read a document", 5) { … }
package toolsearch

import (
	"math"
	"slices"
	"strings"
)

// Bounds of what is looked at.
const (
	MaxQuery       = 1 << 10 // bytes of a query
	maxQueryTerms  = 32      // different words of it
	maxDescription = 8 << 10 // bytes of a tool's description
	maxName        = 256     // bytes of its name
)

// The usual numbers of BM25, and how often a word of a name counts.
const (
	saturation = 1.2
	lengthPart = 0.75
	nameWeight = 3
)

// Tool is what a tool is found by.
type Tool struct {
	Name        string
	Description string
}

// Index is a number of tools. It is not changed after [New], so any number of
// goroutines may search it at once.
type Index struct {
	postings map[string][]posting
	lengths  []float64 // of each tool, in words
	average  float64
}

// posting says how often a word stands in a tool.
type posting struct {
	tool  int
	count float64
}

// New returns an index of tools, which are known by their places from 0. Of a
// description longer than 8 KiB the beginning counts.
func New(tools []Tool) *Index {
	x := &Index{postings: make(map[string][]posting), lengths: make([]float64, len(tools))}
	for i, t := range tools {
		for _, word := range nameWords(cut(t.Name, maxName)) {
			x.add(i, word, nameWeight)
		}
		for _, word := range words(cut(t.Description, maxDescription)) {
			x.add(i, word, 1)
		}
		x.average += x.lengths[i] / float64(len(tools))
	}
	return x
}

func (x *Index) add(tool int, word string, count float64) {
	x.lengths[tool] += count
	list := x.postings[word]
	if n := len(list); n > 0 && list[n-1].tool == tool {
		list[n-1].count += count
		return
	}
	x.postings[word] = append(list, posting{tool, count})
}

// Search returns the places of at most limit tools that have a word of the query that
// says something, the best first; those that are equally good are in the order of the index. Of a
// query longer than [MaxQuery] the beginning counts, and of that the first 32
// different words.
func (x *Index) Search(query string, limit int) []int {
	scores := make(map[int]float64)
	for _, word := range queryWords(query) {
		list := x.postings[word]
		weight := x.rarity(len(list))
		for _, p := range list {
			norm := 1 - lengthPart + lengthPart*x.lengths[p.tool]/x.average
			scores[p.tool] += weight * p.count * (saturation + 1) / (p.count + saturation*norm)
		}
	}
	found := make([]int, 0, len(scores))
	for tool := range scores {
		found = append(found, tool)
	}
	slices.SortFunc(found, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return a - b
	})
	return found[:min(max(limit, 0), len(found))]
}

// rarity is what a word says that stands in so many tools; always above 0.
func (x *Index) rarity(tools int) float64 {
	n, all := float64(tools), float64(len(x.lengths))
	return math.Log(1 + (all-n+0.5)/(n+0.5))
}

// common are words of English that stand in every text. A tool that has one of them and
// no other would be shown for nothing.
var common = strings.Fields("a all an and any are as at be but by can do for from how i in into is it its me my no not of on or so some that the this to use using want we what which with you")

// queryWords returns the words of a query, each once.
func queryWords(query string) []string {
	var out []string
	for _, word := range words(cut(query, MaxQuery)) {
		if len(out) == maxQueryTerms {
			break
		}
		if !slices.Contains(out, word) && !slices.Contains(common, word) {
			out = append(out, word)
		}
	}
	return out
}
