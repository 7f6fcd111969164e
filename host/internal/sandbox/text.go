package sandbox

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/host/visible"
)

// Most bytes of what a guest says where a person or a model reads it.
const (
	maxWords    = 200  // the guest's words in a message of ours
	maxMessage  = 512  // such a message
	maxDetail   = 8192 // what people get
	maxProgress = 256
)

// cleanText makes text valid UTF-8 without NUL. Other control characters stay:
// the text is the tool's answer, and who shows it to a person escapes them.
func cleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// oneLine makes text fit for the middle of a line of at most limit bytes.
func oneLine(s string, limit int) string { return visible.Line(strings.TrimSpace(s), limit) }

// cleanLines makes text of several lines fit to be shown. Its end is kept.
func cleanLines(s string, limit int) string {
	if at := len(s) - limit; at > 0 {
		for at < len(s) && !utf8.RuneStart(s[at]) {
			at++
		}
		s = visible.Ellipsis + s[at:]
	}
	return strings.TrimSpace(visible.Text(s))
}

// size writes a number of bytes as people read it, exactly: 32 MiB, 1500 bytes.
func size(n int64) string {
	for _, u := range []struct {
		bytes int64
		name  string
	}{{policy.GiB, "GiB"}, {policy.MiB, "MiB"}, {policy.KiB, "KiB"}} {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + " " + u.name
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// roughly writes a size for people, to a tenth of the unit.
func roughly(n int64) string {
	for _, u := range []struct {
		bytes int64
		name  string
	}{{policy.GiB, "GiB"}, {policy.MiB, "MiB"}, {policy.KiB, "KiB"}} {
		if n >= u.bytes {
			return strings.TrimSuffix(strconv.FormatFloat(float64(n)/float64(u.bytes), 'f', 1, 64), ".0") + " " + u.name
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}
