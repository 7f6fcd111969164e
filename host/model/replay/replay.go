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

// maxLine bounds one line of a recording.
const maxLine = 32 << 20

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

// Load reads the recording in the file path.
func Load(path string) (*Recording, error) {
	// Before it is opened: opening a FIFO would wait for somebody to write.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open recording: %s is not a file", filepath.Base(path))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	}
	defer f.Close()
	return parse(f, filepath.Base(path))
}

// New reads a recording from r up to its end.
func New(r io.Reader) (*Recording, error) { return parse(r, "recording") }

// parse reads all lines. Errors name the recording and the line.
func parse(r io.Reader, name string) (*Recording, error) {
	rec := &Recording{name: name}
	lines := bufio.NewScanner(r)
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
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s:%d: the line is longer than 32 MiB", name, rec.lines+1)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case len(rec.replies) == 0:
		return nil, fmt.Errorf("%s: the recording holds no reply", name)
	}
	return rec, nil
}

// Len returns how many model calls the recording answers.
func (r *Recording) Len() int { return len(r.replies) }

// Model returns a model that plays the recording from its start. A run takes
// one of its own; runs that share one share its place in the recording.
func (r *Recording) Model() *Player { return &Player{recording: r} }
