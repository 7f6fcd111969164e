package toolsearch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"read_file":            "read file",
		"read-file.v2":         "read file v2",
		"readFile":             "read file",
		"HTTPServer":           "http server",
		"getURL":               "get url",
		"base64Decode":         "base64 decode",
		"github/create_issue":  "github create issue",
		"Reads all the FILES!": "read all the file",
		"gas class is":         "gas class is",
		"Straße ÜBER crème":    "strasse uber creme",
		"cafe\u0301":           "cafe",
		"ΣΊΣΥΦΟΣ σίσυφος":      "σίσυφοσ σίσυφοσ",
		"搜索 files":             "搜 索 file",
		" \t--__ ":             "",
		"\xff\xfea":            "a",
	} {
		if got := strings.Join(words(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

var catalogue = []Tool{
	{"read_file", "Reads a file and returns its text."},
	{"write_file", "Writes text to a file."},
	{"list_dir", "Lists the files of a folder."},
	{"sendMail", "Sends an e-mail to one person."},
	{"word_count", "Counts the words of a text."},
	{"http-get", "Fetches a page over HTTP."},
	{"a1", "same"},
	{"a2", "same"},
	{"a3", "same"},
}

func names(found []int) []string {
	out := []string{}
	for _, i := range found {
		out = append(out, catalogue[i].Name)
	}
	return out
}

func TestSearch(t *testing.T) {
	x := New(catalogue)
	for query, want := range map[string][]string{
		"read file":      {"read_file", "write_file", "list_dir"},
		"send mail":      {"sendMail"},
		"SENDMAIL":       {"sendMail"},
		"wordcount":      {"word_count"},
		"HTTP":           {"http-get"},
		"same":           {"a1", "a2", "a3"},
		"nothing at all": {},
		"":               {},
		"use the of a":   {},
		"the words":      {"word_count"},
		"--":             {},
		"count words":    {"word_count"},
	} {
		got := names(x.Search(query, 3))
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", query, d)
		}
	}
	if d := cmp.Diff([]string{"a1", "a2"}, names(x.Search("same", 2))); d != "" {
		t.Error(d)
	}
	for _, limit := range []int{0, -1} {
		if got := x.Search("same", limit); len(got) != 0 {
			t.Errorf("limit %d: %v", limit, got)
		}
	}
	if got := New(nil).Search("file", 3); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
	if got := New([]Tool{{}, {}}).Search("file", 3); len(got) != 0 {
		t.Errorf("of tools without a word: %v", got)
	}
}

// drawn is a catalogue of a few words.
func drawn(rt *rapid.T) []Tool {
	word := rapid.SampledFrom([]string{"read", "write", "file", "mail", "net", "sum", "list", "zip"})
	return rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) Tool {
		return Tool{
			Name:        strings.Join(rapid.SliceOfN(word, 1, 3).Draw(rt, "name"), "_"),
			Description: strings.Join(rapid.SliceOfN(word, 0, 8).Draw(rt, "description"), " "),
		}
	}), 1, 30).Draw(rt, "tools")
}

func query(rt *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"read", "FILE", "Mail", "sum", "lists", "nope"}), 0, 5).Draw(rt, "query"), " ")
}

// What is found has a word of the query, each once; what is not found has none.
func TestWhatIsFoundHasAWordOfTheQuery(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tools, q := drawn(rt), query(rt)
		found := New(tools).Search(q, len(tools))
		for i, tool := range tools {
			has := slices.ContainsFunc(words(q), func(w string) bool { return slices.Contains(words(tool.Name+" "+tool.Description), w) })
			if n := len(slices.DeleteFunc(slices.Clone(found), func(j int) bool { return j != i })); has != (n == 1) || n > 1 {
				rt.Fatalf("%q: %+v is found %d times", q, tool, n)
			}
		}
	})
}

// Neither the case of the words nor their number changes what is found,
// and a smaller limit gives the beginning of the larger one's.
func TestAQueryIsASetOfWords(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tools, q := drawn(rt), query(rt)
		x := New(tools)
		all := x.Search(q, len(tools))
		if d := cmp.Diff(all, x.Search(strings.ToUpper(q)+" "+q, len(tools))); d != "" {
			rt.Fatal(d)
		}
		n := rapid.IntRange(0, len(tools)).Draw(rt, "limit")
		if d := cmp.Diff(all[:min(n, len(all))], x.Search(q, n)); d != "" {
			rt.Fatal(d)
		}
	})
}

// Tools that read alike are in the order of the index.
func TestTiesAreInTheOrderOfTheIndex(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tools, q := drawn(rt), query(rt)
		twice := append(slices.Clone(tools), tools...)
		found := New(twice).Search(q, len(twice))
		for i := range tools {
			first, second := slices.Index(found, i), slices.Index(found, i+len(tools))
			if first > second || (first < 0) != (second < 0) {
				rt.Fatalf("%q: %d is at %d, its double at %d", q, i, first, second)
			}
		}
	})
}

// Of two tools of the same length the one that has the word more often is first,
// a rare word counts for more than a common one, and a name for more than a text.
func TestWhatRanksAbove(t *testing.T) {
	common := []Tool{{"x", "file one"}, {"x", "file two"}, {"x", "file three"}}
	for name, c := range map[string]struct {
		tools []Tool
		query string
	}{
		"more often": {append([]Tool{{"x", "zip read read"}, {"x", "zip zip read"}}, common...), "zip"},
		"a rare one": {append([]Tool{{"x", "file here"}, {"x", "zip here"}}, common...), "file zip"},
		"in a name":  {append([]Tool{{"x", "zip"}, {"zip", "x"}}, common...), "zip"},
		"shorter":    {append([]Tool{{"x", "zip and much else that is said of it"}, {"x", "zip and"}}, common...), "zip"},
		"both words": {append([]Tool{{"x", "zip here"}, {"x", "zip read"}}, common...), "read zip"},
	} {
		if got := New(c.tools).Search(c.query, 9); len(got) < 2 || got[0] != 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A query and a description of any size are read as far as their bound.
func TestLongTextsAreBounded(t *testing.T) {
	long := strings.Repeat("word ", 1<<20)
	x := New([]Tool{{"a", long + "late"}, {"b", "late"}})
	if d := cmp.Diff([]int{1}, x.Search("late", 5)); d != "" {
		t.Error(d)
	}
	if got := x.Search(long+"late", 5); len(got) != 1 || got[0] != 0 {
		t.Errorf("found %v", got)
	}
	var many strings.Builder
	for i := range maxQueryTerms {
		fmt.Fprintf(&many, "q%d ", i)
	}
	if got := x.Search(many.String()+"late", 5); len(got) != 0 {
		t.Errorf("found %v", got)
	}
}
