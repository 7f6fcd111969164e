package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	api "github.com/sashabaranov/go-openai"

	"github.com/wagent-dev/wagent/host/internal/redact"
	"github.com/wagent-dev/wagent/host/model"
)

const (
	maxLessons  = 6 // how often one attempt is sent again after a refusal that taught something
	maxMistakes = 2 // how often a model is asked to write a call again
)

// Client is a model behind an endpoint. It must be closed.
type Client struct {
	opts   Options
	url    string
	extra  map[string]json.RawMessage // Options.Extra, encoded
	http   *http.Client
	header http.Header
	redact redactor
	// official: the endpoint is OpenAI's own
	official bool

	readers *sync.Pool // of *bufio.Reader, for replies
	bodies  *sync.Pool // of *posted, for requests

	mu        sync.Mutex
	profile   *profile
	lastTools *toolset
	beside    *beside
}

var (
	_ model.Model      = (*Client)(nil)
	_ model.Identified = (*Client)(nil)
)

// Identity implements [model.Identified].
func (c *Client) Identity() (name string, window int64) { return c.opts.Name, c.opts.ContextWindow }

// New returns a client of the endpoint that opts describe. It does not connect.
func New(opts Options) (*Client, error) {
	if opts.BaseURL == "" {
		opts.BaseURL = api.DefaultConfig("").BaseURL
	}
	opts, base, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", opts.Name, err)
	}
	extra := make(map[string]json.RawMessage, len(opts.Extra))
	for key, value := range opts.Extra {
		if extra[key], err = marshal(value); err != nil {
			return nil, fmt.Errorf("model %q: extra %q: %w", opts.Name, key, err)
		}
	}
	origin := "openai:" + base.Host
	if opts.Apart {
		origin += "/" + opts.Name
	}
	return &Client{
		opts: opts, extra: extra, redact: redactor{redact.New(opts.APIKey)},
		readers:  &sync.Pool{New: func() any { return bufio.NewReader(nil) }},
		bodies:   &sync.Pool{New: func() any { return new(posted) }},
		url:      base.JoinPath("chat", "completions").String(),
		http:     newHTTPClient(&opts),
		header:   header(&opts),
		official: base.Hostname() == officialHost,
		profile:  opts.Compat.profile(origin),
	}, nil
}

// Close ends idle connections. Calls under way are not touched.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// Generate implements [model.Model]. The conversation must be complete: after a
// message with calls come exactly their results, else it is refused before
// anything is sent.
func (c *Client) Generate(ctx context.Context, req *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
	tools, err := c.tools(req.Tools)
	if err != nil {
		return nil, err
	}
	call := &generation{client: c, req: req, tools: tools, sink: sink, unshown: unshownIn(req)}
	retry := c.opts.Retry
	return retry.Do(ctx, call.show, call.attempt)
}

// generation is one call of Generate over its attempts.
type generation struct {
	client   *Client
	req      *model.Request
	tools    *toolset
	sink     func(model.Chunk)
	empty    bool // a reply without anything came already
	mistakes int  // calls that the server could not read
	unshown  *unshown
	warnings []string // of what was learned on the way
}

// show hands a chunk on and logs a retry.
func (g *generation) show(chunk model.Chunk) {
	if r := chunk.Retry; r != nil {
		g.client.opts.Logger.Warn("model call is tried again", "model", g.client.opts.Name,
			"attempt", r.Attempt, "wait", r.Wait.Round(time.Millisecond), "error", r.Err)
	}
	if g.sink != nil {
		g.sink(chunk)
	}
}

// attempt is one try, sent again at once when a refusal taught how.
func (g *generation) attempt(ctx context.Context) (*model.Reply, error) {
	for n := 1; ; n++ {
		reply, again, err := g.send(ctx)
		if again && n < maxLessons {
			continue
		}
		var failed *model.Error
		if errors.As(err, &failed) {
			g.client.redact.failure(failed)
		}
		if err == nil {
			g.client.redact.reply(reply)
		}
		return reply, err
	}
}

// send makes one exchange; again says that the profile has changed.
func (g *generation) send(ctx context.Context) (reply *model.Reply, again bool, err error) {
	c := g.client
	p := c.current()
	if p.noOutput && g.req.Output != nil {
		return nil, false, refusedOutput(nil)
	}
	own := g.unshown.profile(p)
	messages, err := own.encode(g.req)
	if err != nil {
		return nil, false, err
	}
	body, err := g.body(p, messages)
	if err != nil {
		return nil, false, err
	}
	d := newDraft(p.origin, g.tools, g.show)
	d.prompt = messages.tokens + g.tools.tokens
	reply, err = c.exchange(ctx, body, d, g.req)
	if err == nil {
		reply.Warnings = slices.Concat(reply.Warnings, g.warnings, own.untaken(g.req.Messages, &c.opts.Compat), p.losses())
		return reply, false, nil
	}
	var failed *model.Error
	if !errors.As(err, &failed) {
		return nil, false, err
	}
	if refusesOutput(failed, g.req) {
		c.replace(p, p.with(func(q *profile) { q.noOutput = true }))
		return nil, false, refusedOutput(failed)
	}
	failed.Usage = d.spent(g.req)
	if d.choices == 0 { // nothing was shown that would be shown again
		again = g.learn(p, failed, messages) || g.learnRefused(own, failed, messages)
	}
	if !again {
		g.judge(failed)
	}
	return nil, again, failed
}

// learn changes how the client speaks to its model from here on, when a refusal says how.
func (g *generation) learn(p *profile, failed *model.Error, sent *encoded) bool {
	q, what := g.client.learn(p, failed, sent, g.tools, g.req)
	if q == nil {
		return false
	}
	g.client.opts.Logger.Info("the endpoint wants it otherwise", "model", g.client.opts.Name, "now", what)
	g.client.replace(p, q)
	return true
}

func (g *generation) body(p *profile, messages *encoded) ([][]byte, error) {
	members, err := g.client.members(p, g.tools, g.req)
	if err != nil {
		return nil, rejected(fmt.Sprintf("encode the request: %v", err))
	}
	var hint []byte
	if g.mistakes > 0 {
		if hint, err = correction(); err != nil {
			return nil, rejected(fmt.Sprintf("encode the request: %v", err))
		}
	}
	return newBody(messages.text, hint, members), nil
}

// judge bounds the retries of failures that are the model's own.
func (g *generation) judge(e *model.Error) {
	switch e.Code {
	case codeEmpty:
		e.Retryable = !g.empty
		g.empty = true
	case codeToolUse:
		g.mistakes++
		e.Retryable = g.mistakes <= maxMistakes
	}
}

func (c *Client) current() *profile {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.profile
}

// replace puts q in place of p, unless another call has learned something in
// the meantime: then its profile is tried first.
func (c *Client) replace(p, q *profile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.profile == p {
		c.profile = q
	}
}
