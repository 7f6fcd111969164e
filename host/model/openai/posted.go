package openai

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// posted is a request's body, put together in a buffer. The buffer is used again when
// the transport is known to have done with it, which may be after the reply.
type posted struct {
	buf     []byte
	pending atomic.Int64 // bodies that the transport was given and has not sent whole
}

// open returns a body, one of those that net/http knows to be in memory.
func (p *posted) open() (io.ReadCloser, error) {
	p.pending.Add(1)
	return io.NopCloser(bytes.NewReader(p.buf)), nil
}

// traced makes ctx one in which a transport says when a body is sent. One that says
// nothing keeps the buffer.
func (p *posted) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				p.pending.Add(-1)
			}
		},
	})
}

// join puts a body together.
func (c *Client) join(body [][]byte) *posted {
	p := c.bodies.Get().(*posted)
	p.buf = p.buf[:0]
	for _, b := range body {
		p.buf = append(p.buf, b...)
	}
	return p
}

// reuse takes a body back whose reply came. It may be nil.
func (c *Client) reuse(p *posted) {
	if p != nil && p.pending.Load() == 0 {
		c.bodies.Put(p)
	}
}

// newPost makes a request of a body. One that fits into the connection's buffer is
// put together: of what it knows to be in memory, net/http sends head and body at once.
func (c *Client) newPost(ctx context.Context, body [][]byte) (r *http.Request, whole *posted, err error) {
	size := totalLen(body)
	open := func() (io.ReadCloser, error) { return io.NopCloser(&segmentReader{segments: body}), nil }
	if size <= writeBuffer {
		whole = c.join(body)
		open, ctx = whole.open, whole.traced(ctx)
	}
	r, err = http.NewRequestWithContext(ctx, http.MethodPost, c.url, nil)
	if err != nil {
		return nil, nil, err
	}
	r.ContentLength, r.GetBody = size, open
	r.Body, err = open()
	return r, whole, err
}
