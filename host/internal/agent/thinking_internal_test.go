package agent

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestThinkingIsPartedFromWhatIsSaid(t *testing.T) {
	for text, want := range map[string][2]string{
		"<think>\nhm\n</think>\n\n42":         {"hm", "42"},
		"<think>hm</think>\n42":               {"hm", "42"},
		"\n <think>\r\nhm</think>42 \n":       {"hm", "42 \n"},
		"<think>\n\n</think>\n\n42":           {"", "42"},
		"<think>\nhm\n</think>":               {"hm", ""},
		"<think>hm</think> \n":                {"hm", ""},
		"<think>\na <think> b\n</think>\n42":  {"a <think> b", "42"},
		"<think>\na\n</think>\nb </think>\nc": {"a", "b </think>\nc"},
	} {
		if thinking, said, ok := parted(text); !ok || thinking != want[0] || said != want[1] {
			t.Errorf("%q: %q %q %v", text, thinking, said, ok)
		}
	}
	for _, text := range []string{
		"", "42", "<think>", "<think>\nhm", "<think>hm</think>42", "<think> and </think> are marks.", "<thinking>\nhm\n</thinking>\n42",
		"A model writes <think>\nhm\n</think>\n first.", "```\n<think>\nhm\n</think>\n```", "`<think>`\nhm\n</think>\n42", "hm\n</think>\n42",
		"&lt;think>\nhm</think>\n42", "> <think>\nhm\n</think>\n42", strings.Repeat(" ", 2000) + "<think>\nhm\n</think>\n42",
	} {
		if thinking, said, ok := parted(text); ok || thinking != "" || said != text {
			t.Errorf("%q: %q %q", text, thinking, said)
		}
	}
}

// However a text is cut into pieces, what is shown as said is what will be kept, or
// nothing, and then the whole is shown when it is there.
func TestLawPiecesArePartedAsTheWholeIs(t *testing.T) {
	t.Parallel()
	words := []string{"<think>", "</think>", "<", "</", "think>", "<thin", "a", "é", " ", "\n", "\r\n", "\t", "```", strings.Repeat(" ", 700)}
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 12).Draw(rt, "words"), "")
		var streamed thought
		var thinking, said strings.Builder
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "piece")
			a, b := streamed.take(rest[:n])
			thinking.WriteString(a)
			said.WriteString(b)
			rest = rest[n:]
		}
		whole, kept, ok := parted(text)
		if s := said.String(); s != "" && s != kept {
			rt.Fatalf("%q: shown is %q, and kept %q", text, s, kept)
		}
		if s := thinking.String(); said.Len() > 0 && strings.Trim(s, blanks) != whole {
			rt.Fatalf("%q: thinking is shown as %q, and kept as %q (%v)", text, s, whole, ok)
		}
	})
}

// Pieces of one byte take time that grows with the text alone.
func TestPartingPiecesIsLinear(t *testing.T) {
	var streamed thought
	var said int
	for _, text := range []string{"<think>\n", strings.Repeat("</think ", 200_000), "</think>", strings.Repeat(" ", 1_000_000), "x"} {
		for i := range len(text) {
			_, s := streamed.take(text[i : i+1])
			said += len(s)
		}
	}
	if said != 1 || len(streamed.held) > 0 {
		t.Errorf("%d bytes are said, %d are held", said, len(streamed.held))
	}
}
