package hostfn

// Attack: a guest prints without end, forges records with newlines and escape
// sequences, or floods the host with empty lines that count as nothing.

import (
	"bytes"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/host/internal/redact"
	"github.com/wagent-dev/wagent/host/visible"
	"github.com/wagent-dev/wagent/sdk/abi"
)

const (
	maxLine = 4 << 10 // bytes of one line, before and after it is made visible
	maxTail = 8 << 10 // bytes kept of the end, for errors: a Go guest dumps its stacks after the reason
)

// LogSink takes what one call writes to stdout, stderr and its log, up to a
// limit on all of it together. It is safe for concurrent use.
type LogSink struct {
	emit  func(abi.Level, string)
	limit int64

	mu    sync.Mutex
	bytes int64 // taken
	cut   bool  // something was dropped
	lost  int64 // lines that were, not told yet
	clean redact.Stream
	line  []byte // of a stream, not ended yet
	tail  []byte // the end of everything, dropped or not
}

// NewLogSink returns a sink that hands on at most limit bytes, line by line.
// Each line counts one byte more than it has. emit gets one visible line at a
// time, without its newline; it is called with the sink locked, so it must
// neither block nor call the sink. It may be nil.
func NewLogSink(limit int64, emit func(level abi.Level, line string)) *LogSink {
	if emit == nil {
		emit = func(abi.Level, string) {}
	}
	return &LogSink{emit: emit, limit: limit}
}

// Hide has values taken out of everything, before anything is cut. In the stream
// that Write takes a value is found across its pieces; each record of Line is
// looked at by itself. Call it before the guest begins; nil is nothing.
func (s *LogSink) Hide(values *redact.Set) { s.clean.Set = values }

// Write takes a piece of a stream. It always takes all of it: what is over the
// limit is dropped, which is told at the end, and the guest goes on. A line longer
// than 4 KiB becomes several.
func (s *LogSink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(s.clean.Next(p))
	return len(p), nil
}

// take splits a stream into lines.
func (s *LogSink) take(p []byte) {
	s.keepTail(p)
	for rest := p; len(rest) > 0; {
		if s.cut {
			s.lost += int64(bytes.Count(rest, []byte{'\n'}))
			break
		}
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			s.extend(rest)
			break
		}
		s.extend(rest[:end])
		s.endLine()
		rest = rest[end+1:]
	}
}

// Line takes one record. It stays one record: a newline in it is written out,
// and what is over 4 KiB is cut.
func (s *LogSink) Line(level abi.Level, msg string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	msg = s.clean.Set.String(msg)
	s.keepTail([]byte(msg[max(0, len(msg)-maxTail):]))
	s.keepTail([]byte("\n"))
	s.record(min(max(level, abi.LevelDebug), abi.LevelError), msg)
}

// Flush hands on a last line that has no newline, and tells how many were dropped.
// Call it when the guest is done.
func (s *LogSink) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(s.clean.End())
	if len(s.line) > 0 {
		s.endLine()
	}
	if s.lost > 0 {
		s.emit(abi.LevelWarn, fmt.Sprintf("log limit of %d bytes reached: %d lines were cut or dropped", s.limit, s.lost))
		s.lost = 0
	}
}

// Tail returns about the last 8 KiB of what was written, dropped or not, made
// visible, with its newlines.
func (s *LogSink) Tail() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(s.clean.End())
	tail := s.tail
	// The cut may have gone through a character.
	for len(tail) == maxTail && len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return visible.Text(string(tail))
}

// Lost returns how many lines were dropped since the last Flush.
func (s *LogSink) Lost() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// Drop counts lines of which another sink has kept no more than the tail: what that
// says of them is told as if this one had dropped them.
func (s *LogSink) Drop(lines int64, tail string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lines <= 0 {
		return
	}
	s.cut = true
	s.lost += lines
	s.keepTail([]byte(s.clean.Set.String(tail)))
}

// Bytes returns how much was taken, at most the limit.
func (s *LogSink) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// Cut reports whether something was dropped.
func (s *LogSink) Cut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}

// extend adds to the line that is open, and ends it each time it is full.
func (s *LogSink) extend(p []byte) {
	for len(s.line)+len(p) > maxLine && !s.cut {
		n := maxLine - len(s.line)
		for n > 0 && n > maxLine-len(s.line)-utf8.UTFMax && !utf8.RuneStart(p[n]) {
			n--
		}
		s.line = append(s.line, p[:n]...)
		s.endLine()
		p = p[n:]
	}
	if !s.cut {
		s.line = append(s.line, p...)
	}
}

func (s *LogSink) endLine() {
	line := bytes.TrimSuffix(s.line, []byte("\r"))
	s.record(abi.LevelInfo, string(line))
	s.line = s.line[:0]
}

// record counts a line and hands it on, or what of it is within the limit.
func (s *LogSink) record(level abi.Level, msg string) {
	if s.cut {
		s.lost++
		return
	}
	left := s.limit - s.bytes
	if int64(len(msg)) < left {
		s.bytes += int64(len(msg)) + 1
		s.emit(level, visible.Line(msg, maxLine))
		return
	}
	s.cut = true
	s.lost++
	if left > 0 {
		s.bytes = s.limit
		s.emit(level, visible.Line(msg[:left], maxLine))
	}
}

func (s *LogSink) keepTail(p []byte) {
	if len(p) >= maxTail {
		s.tail = append(s.tail[:0], p[len(p)-maxTail:]...)
		return
	}
	if over := len(s.tail) + len(p) - maxTail; over > 0 {
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
	s.tail = append(s.tail, p...)
}
