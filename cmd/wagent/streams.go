package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/wagent-dev/wagent/host/visible"
)

// streams are what the command reads and writes, and what is known of them.
type streams struct {
	in       io.Reader
	out, err io.Writer
	outTerm  bool       // out is a terminal
	errTerm  bool       // err is a terminal
	outLost  bool       // nobody can read what is written to out
	width    func() int // columns of err; 0: not known
	getenv   func(string) string
}

func osStreams() *streams {
	return &streams{
		in: os.Stdin, out: output{os.Stdout}, err: os.Stderr, outLost: lost(os.Stdout),
		outTerm: isTerminal(os.Stdout), errTerm: isTerminal(os.Stderr),
		width: func() int {
			w, _, err := term.GetSize(fd(os.Stderr))
			if err != nil {
				return 0
			}
			return w
		},
		getenv: os.Getenv,
	}
}

func fd(f *os.File) int { return int(f.Fd()) } //nolint:gosec // a descriptor fits

func isTerminal(f *os.File) bool { return term.IsTerminal(fd(f)) }

// output is standard output: what cannot be written to it has failed the command,
// whichever it is.
type output struct{ w io.Writer }

func (o output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		err = failed(fmt.Errorf("standard output: %w", err))
	}
	return n, err
}

// visibleWriter makes control characters and terminal escapes visible.
type visibleWriter struct{ w io.Writer }

func (v visibleWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(v.w, visible.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// plain says that nobody wants colours or lines that change.
func (a *app) plain() bool {
	return a.noColor || a.getenv("NO_COLOR") != "" || a.getenv("TERM") == "dumb"
}

// errStyle is how lines on standard error are coloured.
func (a *app) errStyle() style { return style{on: a.errTerm && !a.plain()} }

// outStyle is how text on standard output is coloured.
func (a *app) outStyle() style { return style{on: a.outTerm && !a.plain()} }

// style adds colours, or none.
type style struct{ on bool }

func (s style) wrap(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(t string) string   { return s.wrap("1", t) }
func (s style) dim(t string) string    { return s.wrap("2", t) }
func (s style) red(t string) string    { return s.wrap("31", t) }
func (s style) green(t string) string  { return s.wrap("32", t) }
func (s style) yellow(t string) string { return s.wrap("33", t) }

// lostOutput is told before something is done whose answer nobody will see.
const lostOutput = "standard output is closed or thrown away: the answer will be lost"
