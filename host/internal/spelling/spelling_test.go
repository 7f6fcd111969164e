package spelling

import (
	"strings"
	"testing"
)

func TestNearestFindsWhatWasMeant(t *testing.T) {
	among := []string{"model", "tools", "agent", "name", "version", "max_steps", "q", "abc"}
	for word, want := range map[string]string{
		"modle": "model", "Tools": "tools", "tool": "tools", "nmae": "name", "verison": "version",
		"max_step": "max_steps", "maxsteps": "max_steps", "colour": "", "": "", "x": "",
		strings.Repeat("m", 100): "", "a": "", "qq": "q", "xx": "", "q": "q", "Q": "q", "ab": "abc", "ac": "abc",
	} {
		if got := Nearest(word, among); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
