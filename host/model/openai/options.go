package openai

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/wagent-dev/wagent/host/model"
)

const defaultTimeout = 2 * time.Minute

// Options says which endpoint is spoken to and how. The zero value of each
// field but Name is usable.
type Options struct {
	// Name is the model's name as the endpoint knows it. Required.
	Name string
	// BaseURL is the endpoint without /chat/completions. Empty: OpenAI.
	BaseURL string
	// APIKey is sent as a bearer token, and to no other origin. Empty: no
	// Authorization header.
	APIKey string

	// ContextWindow is how many tokens the model takes, for those who choose between
	// models. Zero: not known.
	ContextWindow int64
	// Temperature is not sent when nil; zero is sent as zero.
	Temperature *float64
	// MaxOutputTokens bounds one reply. Zero: not sent.
	MaxOutputTokens int
	// Stream asks for the reply piece by piece.
	Stream bool
	// Extra is merged into the request body as it is; New encodes it, so later
	// changes of it change nothing. It cannot replace what the loop relies on: the
	// model, messages, tools in either form, stream and n. Its stop is sent beside
	// the texts that a request asks to stop at.
	Extra map[string]any
	// Compat says how the endpoint wants to be spoken to.
	Compat Compat
	// Apart says that another model at the same endpoint takes part in the same
	// conversations: what each signed or thought goes back to itself alone. False:
	// it goes back to the endpoint.
	Apart bool

	// Timeout bounds one attempt, from dialling to the last byte. Zero: 2
	// minutes.
	Timeout time.Duration
	// IdleTimeout bounds the silence within a reply once it has begun.
	// Keep-alives are no silence, but five times as long without anything else
	// ends the attempt too. Zero: half of Timeout, or all
	// of it when the reply is not streamed.
	IdleTimeout time.Duration
	// Retry says how failed attempts are repeated.
	Retry model.Backoff

	// HTTPClient sends the requests; it is copied, its Timeout and
	// CheckRedirect are not used. Nil: a client with a transport of its own,
	// which uses the proxy that the environment names.
	HTTPClient *http.Client
	// Logger receives what was learned and retried, with the provider's words for
	// it. What was odd about a reply is in its Warnings. Nil: nothing is logged.
	Logger *slog.Logger
}

// withDefaults returns a copy of o that is complete and checked.
func (o Options) withDefaults() (Options, *url.URL, error) {
	if strings.TrimSpace(o.Name) == "" {
		return o, nil, errors.New("the model has no name")
	}
	base, err := parseBaseURL(o.BaseURL)
	if err != nil {
		return o, nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(o.Extra)) {
		if owned(key) {
			return o, nil, fmt.Errorf("extra cannot set %q", key)
		}
	}
	if o.Compat, err = o.Compat.over(strings.ToLower(base.Hostname())); err != nil {
		return o, nil, err
	}
	if o.Temperature != nil {
		t := *o.Temperature
		o.Temperature = &t
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = o.Timeout
		if o.Stream {
			o.IdleTimeout /= 2
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if strings.ContainsAny(o.APIKey, "\r\n") {
		return o, nil, errors.New("the API key holds a line break")
	}
	return o, base, nil
}

// parseBaseURL checks a base URL. Its errors do not repeat it, since a URL may
// hold a password.
func parseBaseURL(s string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(strings.TrimSpace(s), "/"))
	switch {
	case err != nil:
		return nil, errors.New("base URL: not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("base URL: must begin with http:// or https://")
	case u.Host == "":
		return nil, errors.New("base URL: has no host")
	case u.User != nil:
		return nil, errors.New("base URL: must not hold a user or password")
	}
	u.Path = strings.TrimSuffix(u.Path, "/chat/completions")
	u.RawPath, u.Fragment = "", ""
	return u, nil
}
