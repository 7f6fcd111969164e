package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tetratelabs/wazero/sys"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// command speaks the wasi ABI: a program that reads its request from standard
// input and writes its answer to standard output.
type command struct {
	name string // argv[0]
	code *compiled
	pool *pool
}

func newCommand(name string, code *compiled, idle *idlers) *command {
	return &command{name, code, newPool(code, code.base, idle)}
}

func (c *command) encode(req *abi.Request) ([]byte, error) { return encodeRequest(req) }

func (c *command) close(ctx context.Context) error {
	return errors.Join(c.pool.close(), c.code.close(ctx))
}

func (c *command) describe(g *guest) ([]byte, error) {
	out, code, err := c.exec(g, noInput(), "--describe")
	switch {
	case err != nil:
		return nil, err
	case code != 0:
		return nil, fault(FaultExited, "the program ended with code %d instead of describing its tools%s", code, g.lastWords())
	}
	return out, nil
}

func (c *command) call(g *guest, req *request) (*answer, error) {
	out, code, err := c.exec(g, bytes.NewReader(req.input), req.Tool)
	if err != nil {
		return nil, err
	}
	if code == 0 && len(out) > 0 {
		return &answer{raw: out}, nil
	}
	text := fmt.Sprintf("the tool ended with code %d", code)
	if code == 0 {
		text = "the tool ended without an answer"
	}
	if tail := cleanLines(g.sink.Tail(), maxDetail); tail != "" {
		text += ":\n" + tail
	}
	failed := textResult(text, true)
	return &answer{raw: out, result: &failed}, nil
}

// exec runs the program to its end and returns its output and exit code.
func (c *command) exec(g *guest, stdin io.Reader, arg string) ([]byte, uint32, error) {
	out := &output{guest: g}
	in, err := c.pool.get(g, g.config(stdin, out, c.name, arg))
	if err != nil {
		return nil, 0, err
	}
	well := false
	defer func() { c.pool.put(in, well) }()
	if err = in.start(); err == nil {
		_, err = in.call(abi.ExportStart)
	}
	var exit *sys.ExitError
	switch {
	case g.ctx.Err() != nil:
		return nil, 0, context.Cause(g.ctx)
	case err == nil:
		well = true
		return out.buf.Bytes(), 0, nil
	case errors.As(err, &exit) && (exit.ExitCode() == 0 || !g.arena.refused):
		well = true
		return out.buf.Bytes(), exit.ExitCode(), nil
	}
	return nil, 0, err
}
