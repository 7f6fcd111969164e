package sandbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/host/visible"
)

// saying is a tool that writes a record of its log a number of times.
func saying(text string, times int) parts {
	p := parts{
		types:   []string{"\x60\x03\x7f\x7f\x7f\x00"},
		imports: []string{imported("wagent", "log", typeOwn)},
		data:    []string{dataAt(8192, text)},
		locals:  testkit.Vec("\x01\x7f"),
	}
	p.call = fmt.Sprintf("loop i32.const 1 i32.const 8192 i32.const %d call 0 local.get 2 i32.const 1 i32.add local.tee 2 i32.const %d i32.lt_u br_if 0 end ", len(text), times) + answers()
	return p
}

func TestISO2ToolsShareNothing(t *testing.T) {
	l := newLab(t)
	dirs := []string{t.TempDir(), t.TempDir()}
	grant := func(i int) func(*Source) {
		return func(s *Source) {
			s.Policy.Grants.Write = []policy.Mount{{Host: dirs[i], Guest: "/out"}}
			s.Policy.Grants.Env = map[string]string{"WHO": strconv.Itoa(i)}
		}
	}
	for _, door := range doors() {
		// The same code on two terms, in one engine and with one cache.
		a, b := load(t, l.engine, doorSource(t, door, grant(0))), load(t, l.engine, doorSource(t, door, grant(1)))
		for i, m := range []*Module{a, b, a, b} {
			other := fmt.Sprint("of", (i+1)%2)
			name := fmt.Sprint("of", i%2, door)
			steps := []doorStep{
				{Do: "env"}, {Do: "make", Dir: "/out", Path: name}, {Do: "open", Dir: "/out", Path: other + door}, {Do: "open", Dir: "/out", Path: name},
			}
			out := m.Call(t.Context(), through(t, steps))
			want := fmt.Sprintf("[\"WHO=%d\"]\nok\n%s\nok", i%2, refused(wasiNoent))
			if said(out) != want {
				t.Errorf("%s %d: %q %q, want %q", door, i%2, out.Fault, said(out), want)
			}
		}
		// A fault of one is none of the other's.
		bad := load(t, l.engine, doorSource(t, door, grant(0), func(s *Source) { s.Policy.Limits.Files = policy.FileLimits{} }))
		if out := bad.Call(t.Context(), through(t, []doorStep{{Do: "make", Dir: "/out", Path: "x"}})); said(out) != refused(wasiMfile) {
			t.Errorf("%s: %q", door, said(out))
		}
		closed(t, bad)
		if out := a.Call(t.Context(), through(t, []doorStep{{Do: "make", Dir: "/out", Path: "y"}})); said(out) != "ok" {
			t.Errorf("%s: %q", door, said(out))
		}
		closed(t, a)
		if out := b.Call(t.Context(), through(t, []doorStep{{Do: "yield"}})); said(out) != "ok" {
			t.Errorf("%s after the other was closed: %q", door, said(out))
		}
		closed(t, b)
	}
	// No module is found by its name, nor what it exports.
	load(t, l.engine, source(t, "done"))
	for _, name := range []string{"done", "done.wasm", "", "guest", "env"} {
		p := parts{imports: []string{imported(name, "wagent_call", typeCall)}}
		l.refusesAny(t, p.source("thief"))
		p = parts{foreign: []string{testkit.Sized(name) + testkit.Sized("memory") + "\x02\x00\x01"}, memory: "\x00\x01"}
		l.refusesAny(t, p.source("thief"))
	}
	l.works(t)
}

// refusesAny checks that a module is not loaded, for whatever reason.
func (l *lab) refusesAny(t *testing.T, src Source) {
	t.Helper()
	m, err := l.engine.Load(t.Context(), src)
	if err == nil {
		closed(t, m)
		t.Errorf("%s was loaded", src.Name)
	}
}

func TestISO4TheEnvironmentIsEmptyUnlessGranted(t *testing.T) {
	l := newLab(t)
	const secret = "sk-secret-of-the-host"
	for i := range 20 {
		t.Setenv(fmt.Sprintf("FAKE_API_KEY_%d", i), fmt.Sprint(secret, i))
	}
	t.Setenv("EXTISM_FAKE", secret)
	dump := []doorStep{
		{Do: "env"},
		{Do: "args"},
		{Do: "open", Dir: "3", Path: "proc/self/environ"},
		{Do: "open", Dir: "/", Path: "proc/self/environ"},
		{Do: "open", Dir: "in", Path: "/proc/self/environ"},
		{Do: "list", FD: "3"},
	}
	for _, door := range doors() {
		for granted, env := range map[string]map[string]string{`[]`: nil, `["LANG=C" "X="]`: {"LANG": "C", "X": ""}} {
			l.suffers(t, attack{what: door + granted, src: doorSource(t, door, func(s *Source) { s.Policy.Grants.Env = env }), want: well, on: func(m *Module) Outcome {
				out := m.Call(t.Context(), through(t, dump))
				args := `[]`
				if door == doorWASI {
					args = `["wasi.wasm" "script"]`
				}
				want := []string{granted, args, refused(wasiBadf), refused(wasiBadf), refused(wasiNotdir), refused(wasiBadf)}
				got := strings.Split(said(out), "\n")
				if len(got) > 1 && door != doorWASI {
					got[1], want[1] = "", ""
					if strings.Contains(said(out), "-test.") {
						t.Errorf("%s sees the host's arguments: %s", door, said(out))
					}
				}
				if !slices.Equal(got, want) || strings.Contains(said(out), secret) || strings.Contains(said(out), "PATH") {
					t.Errorf("%s: %q, want %q", door, got, want)
				}
				return out
			}})
		}
	}
}

func TestISO6ACoarseClockMovesInSteps(t *testing.T) {
	l := newLab(t)
	dir := t.TempDir()
	const step = uint64(time.Millisecond)
	var steps []doorStep
	for range 50 {
		steps = append(steps, doorStep{Do: "time", N: clockRealtime}, doorStep{Do: "time", N: clockMonotonic},
			doorStep{Do: "make", Dir: "/out", Path: "f", N: 10}, doorStep{Do: "mtime", Dir: "/out", Path: "f"})
	}
	for _, door := range doors() {
		for _, coarse := range []bool{false, true} {
			grant := func(s *Source) {
				s.Policy.Grants.Write = []policy.Mount{{Host: dir, Guest: "/out"}}
				s.Policy.Grants.Clock.Coarse = coarse
			}
			l.suffers(t, attack{what: fmt.Sprint(door, coarse), src: doorSource(t, door, grant), want: well, on: func(m *Module) Outcome {
				out := m.Call(t.Context(), through(t, append([]doorStep{{Do: "resolution", N: clockRealtime}, {Do: "resolution", N: clockMonotonic}}, steps...)))
				fine, last := 0, [4]uint64{}
				for i, line := range strings.Split(said(out), "\n") {
					n, err := strconv.ParseUint(line, 10, 64)
					switch {
					case i < 2:
						if err != nil || (n == step) != coarse {
							t.Errorf("%s: the clock is said to be %q fine", door, line)
						}
					case i%4 == 0:
						if line != "ok" {
							t.Errorf("%s: %q", door, line)
						}
					case err != nil || n < last[i%4]:
						t.Errorf("%s: %q after %d", door, line, last[i%4])
					default:
						last[i%4] = n
						if n%step != 0 {
							fine++
						}
					}
				}
				if (fine == 0) != coarse {
					t.Errorf("%s: coarse %t, and %d of 150 times were finer", door, coarse, fine)
				}
				return out
			}})
		}
	}
}

func TestLOG1AFloodIsBounded(t *testing.T) {
	l := newLab(t)
	limit := policy.Default().Limits.Logs
	const lines, few = 1_000_000, 20_000
	check := func(what string, got []string, bytes int, dropped int) {
		t.Helper()
		mark := fmt.Sprintf("log limit of %d bytes reached: %d lines were cut or dropped", limit, dropped)
		if len(got) == 0 || got[len(got)-1] != mark {
			t.Errorf("%s: %d lines, the last %q, want %q", what, len(got), got[max(0, len(got)-1):], mark)
		}
		if int64(bytes) > limit+int64(len(mark)) {
			t.Errorf("%s: %d bytes", what, bytes)
		}
	}
	for _, door := range doors() {
		var got []string
		bytes := 0
		l.suffers(t, attack{what: door, src: doorSource(t, door, within(time.Minute)), want: well, says: "ok", on: func(m *Module) Outcome {
			c := through(t, []doorStep{{Do: "write", FD: "err", Text: "0123456\n", Times: few}})
			c.Log = func(_ abiLevel, line string) { got, bytes = append(got, line), bytes+len(line) }
			return m.Call(t.Context(), c)
		}})
		check(door, got, bytes, few-int(limit)/8)
	}
	// A million of them, by a guest that does nothing else.
	p := parts{
		types:   []string{"\x60\x04\x7f\x7f\x7f\x7f\x01\x7f"},
		imports: []string{imported(wasiModule, "fd_write", typeOwn)},
		data:    []string{dataAt(8192, "\x00\x21\x00\x00\x08\x00\x00\x00"), dataAt(8448, "0123456\n")},
		locals:  testkit.Vec("\x01\x7f"),
	}
	p.call = fmt.Sprintf("loop i32.const 2 i32.const 8192 i32.const 1 i32.const 8208 call 0 if unreachable end local.get 2 i32.const 1 i32.add local.tee 2 i32.const %d i32.lt_u br_if 0 end ", lines) + answers()
	src := p.source("prints")
	within(time.Minute)(&src)
	var printed []string
	size := 0
	l.suffers(t, attack{what: "a million", src: src, want: well, says: "done", on: func(m *Module) Outcome {
		return m.Call(t.Context(), Call{Log: func(_ abiLevel, line string) { printed, size = append(printed, line), size+len(line) }})
	}})
	check("a million", printed, size, lines-int(limit)/8)
	// Records of the log are calls of the host, of which there are a hundred thousand.
	var got []string
	bytes := 0
	l.suffers(t, attack{what: "records", src: saying(strings.Repeat("x", 4096), lines).source("floods"), want: []Fault{FaultHostCalls}, on: func(m *Module) Outcome {
		return m.Call(t.Context(), Call{Log: func(_ abiLevel, line string) { got, bytes = append(got, line), bytes+len(line) }})
	}})
	check("records", got, bytes, maxHostCalls-int(limit)/4097)
}

func TestLOG2ARecordIsOneLineAndObeysNothing(t *testing.T) {
	l := newLab(t)
	const forged = "\n{\"level\":\"error\",\"msg\":\"forged\"}\r\n\x1b[2J\x1b]0;owned\x07\u009b31m\u202etxet\u200b\U000e0041\x00\xff"
	whole := func(what string, lines []string, most int) {
		t.Helper()
		if len(lines) == 0 || len(lines) > most {
			t.Errorf("%s: %d records: %q", what, len(lines), lines)
		}
		for _, line := range lines {
			if visible.Line(line, len(line)) != line || !utf8.ValidString(line) {
				t.Errorf("%s: %q", what, line)
			}
		}
	}
	var lines []string
	note := func(_ abiLevel, line string) { lines = append(lines, line) }
	l.suffers(t, attack{what: "records", src: saying("begins"+forged, 1).source("forges"), want: well, on: func(m *Module) Outcome {
		return m.Call(t.Context(), Call{Log: note})
	}})
	whole("records", lines, 1)
	lines = nil
	l.suffers(t, attack{what: "records of a plugin", src: stepsSource(t), want: well, on: func(m *Module) Outcome {
		var s steps
		s.do("log_warn", s.text("begins"+forged))
		out := m.Call(t.Context(), Call{Tool: "run", Arguments: json.RawMessage(`{}`), Log: note})
		_ = perform(t, m, "run", s.program)
		return out
	}})
	for _, door := range doors() {
		lines = nil
		l.suffers(t, attack{what: door, src: doorSource(t, door), want: well, on: func(m *Module) Outcome {
			c := through(t, []doorStep{{Do: "write", FD: "err", Text: "begins" + forged}})
			c.Log = note
			return m.Call(t.Context(), c)
		}})
		whole(door, lines, 3) // a stream has the lines that it is given
	}
}

func TestTXT5BytesThatAreNoTextAreReplaced(t *testing.T) {
	l := newLab(t)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	raw := strings.NewReplacer(`"`, "", `\`, "").Replace(string(all))
	answer := `{"v":1,"content":[{"type":"text","text":"` + strings.Map(func(r rune) rune { return r }, raw[32:]) + `"}]}`
	plain := raw
	for what, src := range map[string]Source{
		"an answer": parts{data: []string{dataAt(8192, `{"v":1,"content":[{"type":"text","text":"`+"a\xff\xfe\xc0\x80\xed\xa0\x80z"+`"}]}`)}, call: packed(8192, len(`{"v":1,"content":[{"type":"text","text":"`)+len("a\xff\xfe\xc0\x80\xed\xa0\x80z")+len(`"}]}`))}.source("bytes"),
		"all bytes": parts{data: []string{dataAt(8192, answer)}, call: packed(8192, len(answer))}.source("bytes"),
		"no JSON":   parts{data: []string{dataAt(8192, plain)}, call: packed(8192, len(plain))}.source("bytes"),
	} {
		l.suffers(t, attack{what: what, src: src, want: []Fault{"", FaultInvalidResult}, on: func(m *Module) Outcome {
			out := m.Call(t.Context(), Call{})
			for _, text := range []string{said(out), out.Detail} {
				if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
					t.Errorf("%s: %q", what, text)
				}
			}
			return out
		}})
	}
	var lines []string
	l.suffers(t, attack{what: "a log", src: saying(string(all), 1).source("says"), want: well, on: func(m *Module) Outcome {
		return m.Call(t.Context(), Call{Log: func(_ abiLevel, line string) { lines = append(lines, line) }})
	}})
	if len(lines) != 1 || !utf8.ValidString(lines[0]) || strings.ContainsAny(lines[0], "\x00\n\r\x1b\x7f") {
		t.Errorf("the log has %q", lines)
	}
	plugin := load(t, l.engine, source(t, "extism-bytes"), plainTool("copy"), func(s *Source) { s.Text = true })
	if out := plugin.Call(t.Context(), Call{Arguments: json.RawMessage(`{"a":"tea\u0000z"}`)}); said(out) != "tea\ufffdz" {
		t.Errorf("%q %q %s", out.Fault, said(out), out.Detail)
	}
	// A program's output that is no JSON is the answer as it is.
	out := load(t, l.engine, doorSource(t, doorWASI)).Call(t.Context(), through(t, []doorStep{{Do: "write", FD: "out", Text: "a\x00\u0080b"}}))
	if !utf8.ValidString(said(out)) || strings.Contains(said(out), "\x00") || !strings.Contains(said(out), "b") {
		t.Errorf("%q %q", out.Fault, said(out))
	}
}

func TestBUD1CallsOfTheHostAreCounted(t *testing.T) {
	l := newLab(t)
	for _, door := range doors() {
		l.answersAt(t, []string{door}, within(time.Minute), []doorStep{{Do: "yield", Times: 20_000, want: "ok"}}, nil)
	}
	p := parts{
		types: []string{"\x60\x00\x01\x7f"}, imports: []string{imported(wasiModule, "sched_yield", typeOwn)},
		call: "loop call 0 drop br 0 end unreachable",
	}
	src := p.source("calls")
	within(2 * time.Minute)(&src)
	l.suffers(t, attack{what: "the system", src: src, want: []Fault{FaultHostCalls}, says: fmt.Sprint(maxSystemCalls)})
	l.suffers(t, attack{what: "records", src: saying("", 1_000_000).source("calls"), want: []Fault{FaultHostCalls}, says: fmt.Sprint(maxHostCalls)})
}

func TestThreat5TheSystemIsAskedForTooMuch(t *testing.T) {
	l := newLab(t)
	for _, door := range doors() {
		refuses := func(steps ...doorStep) {
			t.Helper()
			l.answersAt(t, []string{door}, within(30*time.Second), steps, nil)
		}
		refuses(
			doorStep{Do: "renumber", FD: "err", To: "4294967295", want: refused(wasiBadf)},
			doorStep{Do: "renumber", FD: "err", To: "2147483647", want: refused(wasiBadf)},
			doorStep{Do: "renumber", FD: "err", To: "67", want: refused(wasiBadf)}, // 3 streams and 64 files are below
			doorStep{Do: "poll", N: 0, want: refused(wasiInval)},
			doorStep{Do: "poll", N: maxSubscriptions + 1, want: refused(wasiInval)},
			doorStep{Do: "poll", N: 1<<32 - 1, want: refused(wasiInval)},
			doorStep{Do: "random", N: 16 << 20, want: "ok"},
		)
		l.suffers(t, attack{what: door + " asks for random bytes without end", src: short(doorSource(t, door)), want: []Fault{FaultTimeout}, on: func(m *Module) Outcome {
			return m.Call(t.Context(), through(t, []doorStep{{Do: "random", N: 16 << 20, Times: 1 << 20}}))
		}})
	}
}

func TestThreat11ProgressIsOneShortLineAndSeldom(t *testing.T) {
	l := newLab(t)
	text := "\x1b[2J\n\r\u202e" + strings.Repeat("x\n", 1000)
	p := parts{
		types:   []string{"\x60\x03\x7f\x7f\x7f\x00"},
		imports: []string{imported("wagent", "progress", typeOwn)},
		data:    []string{dataAt(8192, text)},
		locals:  testkit.Vec("\x01\x7f"),
	}
	p.call = fmt.Sprintf("loop i32.const 500 i32.const 8192 i32.const %d call 0 local.get 2 i32.const 1 i32.add local.tee 2 i32.const 50000 i32.lt_u br_if 0 end ", len(text)) + answers()
	var lines []string
	start := time.Now()
	l.suffers(t, attack{what: "progress", src: p.source("progresses"), want: well, says: "done", on: func(m *Module) Outcome {
		return m.Call(t.Context(), Call{Progress: func(_ int, message string) { lines = append(lines, message) }})
	}})
	if most := 1 + int(time.Since(start)/(time.Second/10)); len(lines) == 0 || len(lines) > most {
		t.Errorf("%d lines in the time of %d", len(lines), most)
	}
	for _, line := range lines {
		if len(line) > 256 || visible.Line(line, len(line)) != line {
			t.Errorf("%q", line)
		}
	}
}
