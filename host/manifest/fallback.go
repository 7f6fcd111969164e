package manifest

import (
	"cmp"
	"net/url"
	"reflect"
	"strings"
)

const defaultBaseURL = "https://api.openai.com/v1"

// Chain returns the model and its fallbacks in the order in which they are asked,
// each complete, with what it inherits and the defaults. The models have no
// fallbacks of their own.
func (l *Model) Chain() []Model {
	first := *l
	first.Fallback = nil
	chain := []Model{first.withDefaults()}
	for i := range l.Fallback {
		chain = append(chain, l.Fallback[i].over(l).withDefaults())
	}
	return chain
}

// alone is what the fallback itself says.
func (f *Fallback) alone() *Model {
	return &Model{
		Name: f.Name, BaseURL: f.BaseURL, APIKey: f.APIKey, ContextWindow: f.ContextWindow,
		Temperature: f.Temperature, MaxOutputTokens: f.MaxOutputTokens, Stream: f.Stream,
		Timeout: f.Timeout, Retry: f.Retry, Prices: f.Prices, Extra: f.Extra, Compat: f.Compat,
	}
}

func (f *Fallback) isZero() bool { return reflect.ValueOf(f).Elem().IsZero() }

// over returns the fallback with what it inherits from m. A key is for whom it was
// given: it is not sent to another host.
func (f *Fallback) over(m *Model) *Model {
	out := *m
	out.Fallback = nil
	out.BaseURL = cmp.Or(f.BaseURL, m.BaseURL)
	out.Name = cmp.Or(f.Name, m.Name)
	if !sameHost(out.BaseURL, m.BaseURL) {
		out.APIKey, out.Compat = "", Compat{}
	}
	if out.Name != m.Name || f.ContextWindow != 0 {
		out.ContextWindow = f.ContextWindow
	}
	out.APIKey = cmp.Or(f.APIKey, out.APIKey)
	out.Temperature = cmp.Or(f.Temperature, m.Temperature)
	out.MaxOutputTokens = cmp.Or(f.MaxOutputTokens, m.MaxOutputTokens)
	out.Stream = cmp.Or(f.Stream, m.Stream)
	out.Timeout = cmp.Or(f.Timeout, m.Timeout)
	out.Retry.Attempts = cmp.Or(f.Retry.Attempts, m.Retry.Attempts)
	out.Retry.Initial = cmp.Or(f.Retry.Initial, m.Retry.Initial)
	out.Retry.Max = cmp.Or(f.Retry.Max, m.Retry.Max)
	out.Prices = cmp.Or(f.Prices, m.Prices)
	if f.Extra != nil {
		out.Extra = f.Extra
	}
	if !reflect.ValueOf(f.Compat).IsZero() {
		out.Compat = f.Compat
	}
	return &out
}

// sameHost says that two addresses have one scheme, host and port.
func sameHost(a, b string) bool {
	at, ok := hostOf(cmp.Or(a, defaultBaseURL))
	other, known := hostOf(cmp.Or(b, defaultBaseURL))
	return ok && known && at == other
}

func hostOf(address string) (string, bool) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" {
		return "", false
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port, true
}
