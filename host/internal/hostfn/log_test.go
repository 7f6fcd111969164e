package hostfn

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// record returns an emit that writes each line down.
func record(to *[]string) func(abi.Level, string) {
	return func(l abi.Level, line string) { *to = append(*to, fmt.Sprintf("%d %s", l, line)) }
}

// LOG-1, FS-10: a guest that prints without end costs its limit and no more.
func TestLogFloodIsCutWithOneMark(t *testing.T) {
	var lines []string
	s := NewLogSink(100, record(&lines))
	chunk := []byte(strings.Repeat("x", 29) + "\n")
	for range 100_000 {
		if n, err := s.Write(chunk); n != len(chunk) || err != nil {
			t.Fatal(n, err)
		}
	}
	s.Line(abi.LevelError, "more")
	s.Flush()
	full := "0 " + strings.Repeat("x", 29)
	want := []string{full, full, full, "0 " + strings.Repeat("x", 10), "1 log limit of 100 bytes reached: 99998 lines were cut or dropped"}
	if d := cmp.Diff(want, lines); d != "" {
		t.Error(d)
	}
	if s.Bytes() != 100 || !s.Cut() {
		t.Errorf("bytes %d, cut %v", s.Bytes(), s.Cut())
	}
	if cap(s.line) > 2*maxLine || cap(s.tail) > 2*maxTail {
		t.Errorf("holds %d and %d bytes", cap(s.line), cap(s.tail))
	}
	if tail := s.Tail(); !strings.HasSuffix(tail, "x\nmore\n") || len(tail) > maxTail {
		t.Errorf("the tail ends %q", tail[max(0, len(tail)-20):])
	}
}

// LOG-1: lines without a byte count as well.
func TestEmptyLinesAreBounded(t *testing.T) {
	n := 0
	s := NewLogSink(1000, func(abi.Level, string) { n++ })
	for range 10_000 {
		s.Line(abi.LevelInfo, "")
		if _, err := s.Write([]byte("\n\n\n")); err != nil {
			t.Fatal(err)
		}
	}
	if n > 1001 {
		t.Errorf("%d lines", n)
	}
}

// LOG-2, TXT-1, TXT-5: a record cannot pretend to be two, and obeys nothing.
func TestLogRecordsCannotBeForged(t *testing.T) {
	var lines []string
	s := NewLogSink(1<<20, record(&lines))
	s.Line(abi.LevelWarn, "a\n{\"level\":\"error\"}\x1b[2J\u202e\xff")
	s.Line(99, "high")
	s.Line(-99, "low")
	for _, p := range []string{"st", "ream\r\n\x1b[1m\x00\xff\n", "no end"} {
		if _, err := s.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	s.Flush()
	s.Flush()
	want := []string{
		`1 a\u{a}{"level":"error"}\u{1b}[2J\u{202e}` + "\ufffd",
		"2 high", "-1 low", "0 stream", `0 \u{1b}[1m\u{0}` + "\ufffd", "0 no end",
	}
	if d := cmp.Diff(want, lines); d != "" {
		t.Error(d)
	}
}

func TestLongLinesAreSplitBetweenCharacters(t *testing.T) {
	var lines []string
	s := NewLogSink(1<<20, func(_ abi.Level, line string) { lines = append(lines, line) })
	long := "x" + strings.Repeat("é", 5000)
	if _, err := s.Write([]byte(long)); err != nil {
		t.Fatal(err)
	}
	s.Flush()
	if d := cmp.Diff(long, strings.Join(lines, "")); d != "" {
		t.Error("characters were lost")
	}
	for _, l := range lines {
		if len(l) > maxLine {
			t.Errorf("a line has %d bytes", len(l))
		}
	}
	lines = nil
	s.Line(abi.LevelInfo, long)
	if len(lines) != 1 || len(lines[0]) > maxLine || !strings.HasSuffix(lines[0], "…") {
		t.Errorf("a record became %d lines", len(lines))
	}
}

func TestTailIsVisibleText(t *testing.T) {
	s := NewLogSink(10, nil)
	if _, err := s.Write([]byte(strings.Repeat("é", 4000) + "!\npanic: \x1b[31mboom\n")); err != nil {
		t.Fatal(err)
	}
	tail := s.Tail()
	if !strings.HasSuffix(tail, "!\npanic: \\u{1b}[31mboom\n") || strings.Contains(tail, "\ufffd") {
		t.Errorf("got %q", tail)
	}
}

func TestLogSinkIsSafeForConcurrentUse(t *testing.T) {
	var lines []string
	s := NewLogSink(1<<20, record(&lines))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				s.Line(abi.LevelInfo, "line")
				_, _ = s.Write([]byte("stream\n"))
				_, _, _ = s.Tail(), s.Bytes(), s.Cut()
			}
		})
	}
	wg.Wait()
	if len(lines) != 1600 || s.Bytes() != 800*5+800*7 {
		t.Errorf("%d lines, %d bytes", len(lines), s.Bytes())
	}
}

func FuzzLogSink(f *testing.F) {
	f.Add([]byte("a\nb"), int64(10), 1)
	f.Add([]byte("\xff\x1b\r\n\n"), int64(3), 2)
	f.Fuzz(func(t *testing.T, p []byte, limit int64, step int) {
		var total int64
		marks := 0
		s := NewLogSink(limit, func(_ abi.Level, line string) {
			if strings.HasPrefix(line, "log limit of") {
				marks++
			}
			if strings.ContainsAny(line, "\n\x1b\x00") {
				t.Errorf("raw: %q", line)
			}
		})
		step = min(max(step, 1), 5000)
		for rest := p; len(rest) > 0; rest = rest[min(step, len(rest)):] {
			n, err := s.Write(rest[:min(step, len(rest))])
			if err != nil {
				t.Fatal(err)
			}
			total += int64(n)
		}
		s.Flush()
		if total != int64(len(p)) || s.Bytes() > max(limit, 0) || marks > 1 && !strings.Contains(string(p), "log limit of") {
			t.Errorf("took %d of %d, counted %d of %d, %d marks", total, len(p), s.Bytes(), limit, marks)
		}
	})
}
