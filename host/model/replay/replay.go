// Package replay plays a recorded conversation instead of asking a model: for
// demos, for tests, and for running an agent again without its provider.
//
// A recording is JSON lines, one per model call:
//
//	{"message":{"role":"assistant","content":[{"type":"text","text":"Hi."}]},"usage":{"prompt_tokens":9,"completion_tokens":2},"finish_reason":"stop"}
//
// Requests are not compared with what was asked when it was made. A [Recording]
// is read once; each run takes a player of its own, which begins at the start:
//
//	rec, err := replay.Load("run.jsonl")
//	if err != nil {
//		return err
//	}
//	reply, err := rec.Model().Generate(ctx, req, nil)
package replay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/wagent-dev/wagent/host/model"
)

const (
	maxLine      = 32 << 20  // bytes of one line
	maxRecording = 256 << 20 // bytes of all
)

// Recording is the replies of a recorded run. It does not change and may be
// shared.
type Recording struct {
	name    string
	lines   int
	replies []recorded
}

// recorded is a reply and the line it was read from.
type recorded struct {
	reply model.Reply
	usage bool // the recording says what it cost
}

// Load reads the recording in the file path, which has at most 256 MiB in lines
// of at most 32 MiB. The error names the file and the line.
func Load(path string) (*Recording, error) {
	name := filepath.Base(path)
	// Before it is opened: opening a FIFO would wait for somebody to write.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open recording: %s is not a file", name)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() { // it was replaced
		return nil, fmt.Errorf("open recording: %s is not a file", name)
	}
	return parse(f, name)
}

// New reads a recording from r up to its end, within the bounds of [Load]. It
// blocks as long as r does.
func New(r io.Reader) (*Recording, error) { return parse(r, "recording") }

// parse reads all lines. Errors name the recording and the line.
func parse(r io.Reader, name string) (*Recording, error) {
	rec := &Recording{name: name}
	bounded := &io.LimitedReader{R: r, N: maxRecording + 1}
	lines := bufio.NewScanner(bounded)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		rec.lines++
		line := bytes.TrimSpace(lines.Bytes())
		if rec.lines == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if len(line) == 0 {
			continue
		}
		reply, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, rec.lines, err)
		}
		rec.replies = append(rec.replies, reply)
	}
	switch err := lines.Err(); {
	case bounded.N <= 0:
		return nil, fmt.Errorf("%s: the recording is larger than %d MiB", name, maxRecording>>20)
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s:%d: the line is longer than 32 MiB", name, rec.lines+1)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case len(rec.replies) == 0:
		return nil, fmt.Errorf("%s: the recording holds no reply", name)
	}
	return rec, nil
}

// Len returns how many model calls the recording answers: at least one.
func (r *Recording) Len() int { return len(r.replies) }

// Model returns a model that plays the recording from its start. A run takes
// one of its own; runs that share one share its place in the recording.
func (r *Recording) Model() *Player { return &Player{recording: r} }
