package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/host/visible"
)

// redrawEvery is how often the live line moves.
const redrawEvery = 100 * time.Millisecond

// minFit is how many columns of a text are shown, however long its prefix is.
const minFit = 12

const (
	loadTask  = "load"
	modelTask = "model"
)

// screen is standard output and standard error when both may be the same
// terminal: a line of one never begins in the middle of a line of the other, and
// the live line at the bottom is taken away before anything is printed. It
// belongs to whoever opened it, who closes it.
type screen struct {
	mu      sync.Mutex
	out     io.Writer
	err     io.Writer
	outTerm bool
	live    bool // err is a terminal that takes lines that change
	style   style
	width   func() int

	middle bool // the cursor of the answer is within a line
	drawn  bool // the live line is on the screen
	closed bool
	frame  int
	busy   []task
	fault  error // the first failed write to out

	once         sync.Once
	stop, joined chan struct{}
}

// task is something that takes time.
type task struct {
	id    string
	label string
	note  string
	since time.Time
}

// openScreen returns a screen. While it is open and live, a goroutine of its own
// redraws the live line.
func (a *app) openScreen(out io.Writer) *screen {
	s := &screen{
		out: out, err: a.err, outTerm: a.outTerm, style: a.errStyle(), width: a.width,
		live: a.errTerm && !a.plain(),
		stop: make(chan struct{}), joined: make(chan struct{}),
	}
	go s.animate()
	return s
}

// close takes the live line away and waits for the goroutine. It may be called
// again.
func (s *screen) close() {
	s.once.Do(func() { close(s.stop) })
	<-s.joined
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.endLine()
	s.closed = true
}

func (s *screen) animate() {
	defer close(s.joined)
	if !s.live {
		return
	}
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			s.mu.Lock()
			s.frame++
			s.draw()
			s.mu.Unlock()
		}
	}
}

// say prints text of the answer. It is printed as it is: the caller has made it
// visible.
func (s *screen) say(text string) {
	if text == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	if _, err := io.WriteString(s.out, text); err != nil && s.fault == nil {
		s.fault = err
	}
	s.middle = !strings.HasSuffix(text, "\n")
}

// endAnswer ends the line of the answer, if one is open.
func (s *screen) endAnswer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLine()
}

// note prints a line on standard error.
func (s *screen) note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	if s.outTerm {
		s.endLine()
	}
	fmt.Fprintln(s.err, line)
	s.draw()
}

// Write prints lines of a log as notes. It makes a screen an io.Writer, so that
// a log line never lands in the middle of another.
func (s *screen) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		s.note(visible.Text(strings.TrimSuffix(line, "\n")))
	}
	return len(p), nil
}

// begin adds a task to the live line.
func (s *screen) begin(id, label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = append(s.busy, task{id: id, label: label, since: time.Now()})
	s.draw()
}

// loading says which module is being loaded. What is loaded before the live line
// moves for the first time is never shown: that was not worth a line.
func (s *screen) loading(module string, n, of int) {
	label := fmt.Sprintf("compiling %s (%d of %d)", visible.Line(module, maxLog), n, of)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.busy {
		if s.busy[i].id == loadTask {
			s.busy[i].label = label
			return
		}
	}
	s.busy = append(s.busy, task{id: loadTask, label: label, since: time.Now()})
}

// update changes what the live line says of a task.
func (s *screen) update(id, note string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.busy {
		if s.busy[i].id == id {
			s.busy[i].note = note
		}
	}
}

// finish takes a task off the live line.
func (s *screen) finish(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.busy {
		if s.busy[i].id == id {
			s.busy = append(s.busy[:i], s.busy[i+1:]...)
			break
		}
	}
	s.erase()
	s.draw()
}

// writeFault returns the first failed write of the answer.
func (s *screen) writeFault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

func (s *screen) endLine() {
	if !s.middle {
		return
	}
	s.middle = false
	if _, err := io.WriteString(s.out, "\n"); err != nil && s.fault == nil {
		s.fault = err
	}
}

// draw writes the live line over the one before. There is none while the answer
// is in the middle of a line.
func (s *screen) draw() {
	if !s.live || s.closed || len(s.busy) == 0 || (s.middle && s.outTerm) {
		return
	}
	spinner := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	var parts []string
	for _, t := range s.busy {
		part := t.label
		if t.note != "" {
			part += " " + t.note
		}
		parts = append(parts, fmt.Sprintf("%s %.1fs", part, time.Since(t.since).Seconds()))
	}
	line := string(spinner[s.frame%len(spinner)]) + " " + strings.Join(parts, " · ")
	fmt.Fprint(s.err, "\r\x1b[K"+s.style.dim(crop(line, s.width()-1)))
	s.drawn = true
}

func (s *screen) erase() {
	if s.drawn {
		fmt.Fprint(s.err, "\r\x1b[K")
		s.drawn = false
	}
}

// crop cuts line to a number of columns, so that it never wraps. The
// scripts and symbols that may take two are counted as two.
func crop(line string, columns int) string {
	if columns <= 0 {
		columns = 79
	}
	used, cut := 0, 0
	for i, r := range line {
		w := cells(r)
		if used+w > columns {
			return line[:cut] + "…"
		}
		used += w
		if used < columns {
			cut = i + len(string(r))
		}
	}
	return line
}

// cells is how many columns a character may take.
func cells(r rune) int {
	if r > 0x2fff {
		return 2
	}
	return 1
}

// fit cuts text to what is left of a terminal's line after a prefix without
// colours. Where the width is not known it is cut at most bytes.
func (s *screen) fit(prefix, text string, most int) string {
	columns := s.width()
	if columns <= 0 {
		return visible.Line(text, most)
	}
	for _, r := range prefix {
		columns -= cells(r)
	}
	columns = max(columns, minFit)
	return crop(visible.Line(text, columns*utf8.UTFMax), columns)
}
