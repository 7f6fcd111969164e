package openai

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/wagent-dev/wagent/host/model"
)

const (
	maxBody      = 32 << 20
	maxErrorBody = 64 << 10 // of a body that is an error, all that is looked at
	maxHeader    = 1 << 20
	// writeBuffer holds a request of usual size, which is written at once then.
	writeBuffer = 32 << 10
	// drainTime is how long the end of a finished stream is waited for, so that
	// its connection can be used again.
	drainTime = 50 * time.Millisecond
	// keepAliveFactor times the idle timeout is how long keep-alives without
	// data are taken for life.
	keepAliveFactor = 5
)

var (
	errAttemptTime = errors.New("the attempt took longer than its timeout")
	errSilence     = errors.New("nothing arrived for the idle timeout")
	errNoData      = errors.New("nothing but keep-alives arrived")
	errTooLarge    = errors.New("the reply is larger than 32 MiB")
)

// newHTTPClient follows no redirect: another origin must not see the key, and a
// POST that becomes a GET is no use. Its only total limit is the context: a
// Timeout would end healthy streams.
func newHTTPClient(o *Options) *http.Client {
	client := http.Client{}
	if o.HTTPClient != nil {
		client = *o.HTTPClient
	} else {
		t := &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second,
			MaxIdleConns: 16, MaxIdleConnsPerHost: 4,
			ResponseHeaderTimeout: o.Timeout, MaxResponseHeaderBytes: maxHeader,
			WriteBufferSize: writeBuffer,
		}
		client.Transport = t
	}
	client.Timeout = 0
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

// exchange sends one request and reads its reply into d.
func (c *Client) exchange(parent context.Context, body [][]byte, d *draft, req *model.Request) (*model.Reply, error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	w := newWatch(cancel, c.opts.Timeout, c.opts.IdleTimeout)
	defer w.stop()
	resp, sent, err := c.post(ctx, body)
	if err != nil {
		return nil, failedSend(ctx, err)
	}
	defer resp.Body.Close()
	r := newLive(ctx, w, resp.Body)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, readStatus(resp, r)
	}
	in := c.readers.Get().(*bufio.Reader)
	in.Reset(r)
	defer c.release(in)
	if err := readReply(in, r, d); err != nil {
		return nil, failedRead(ctx, err, d, resp)
	}
	c.reuse(sent)
	reply, err := d.reply(req)
	if err != nil {
		return nil, err
	}
	if id := requestID(resp.Header); id != "" {
		reply.RequestID = id
	}
	return reply, nil
}

// release makes a reader ready for another exchange.
func (c *Client) release(in *bufio.Reader) {
	in.Reset(nil)
	c.readers.Put(in)
}

func (c *Client) post(ctx context.Context, body [][]byte) (*http.Response, *posted, error) {
	r, whole, err := c.newPost(ctx, body)
	if err != nil {
		return nil, nil, err
	}
	r.Header = c.header.Clone()
	resp, err := c.http.Do(r)
	return resp, whole, err
}

// header is what every request has.
func header(o *Options) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {"wagent"}}
	if o.Stream {
		h.Set("Accept", "text/event-stream")
	}
	if o.APIKey != "" {
		h.Set("Authorization", "Bearer "+o.APIKey)
	}
	return h
}

// failedSend is the error of a request that got no answer. The URL is left out:
// it may hold more than it should.
func failedSend(ctx context.Context, err error) error {
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return &model.Error{Kind: model.Unreachable, Retryable: true, Err: err, Message: err.Error()}
}

// readStatus is the error of an answer that is none.
func readStatus(resp *http.Response, r io.Reader) error {
	if resp.StatusCode < 400 {
		to := "elsewhere"
		if u, err := resp.Location(); err == nil {
			to = "to " + u.Scheme + "://" + u.Host
		}
		return &model.Error{
			Kind: model.Rejected, Status: resp.StatusCode, RequestID: requestID(resp.Header),
			Message: fmt.Sprintf("the endpoint redirects %s: set base_url to where it is", truncate(to, maxMessage/2)),
		}
	}
	body, err := io.ReadAll(io.LimitReader(r, maxErrorBody))
	if err == nil {
		return readError(resp.StatusCode, resp.Header, body)
	}
	// Half of a reason can say anything. The status alone counts, and where the
	// reason decides, it is asked for again.
	e := readError(resp.StatusCode, resp.Header, nil)
	e.Message = fmt.Sprintf("%s; the reason broke off: %v", e.Message, err)
	e.Retryable = e.Retryable || e.Kind == model.Rejected
	e.Err = err
	return e
}

// failedRead is the error of a reply that broke off.
func failedRead(ctx context.Context, err error, d *draft, resp *http.Response) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	var failed *model.Error
	if !errors.As(err, &failed) {
		failed = &model.Error{
			Kind: model.Stream, Retryable: !errors.Is(err, errTooLarge), Err: err,
			Message: "the reply broke off: " + err.Error(),
		}
	}
	if failed.Partial == "" {
		failed.Partial = d.text.String()
	}
	if id := requestID(resp.Header); id != "" {
		failed.RequestID = id
	}
	if failed.RetryAfter == 0 {
		failed.RetryAfter = retryAfter(resp.Header)
	}
	return failed
}
