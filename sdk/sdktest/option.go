package sdktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/wagent-dev/wagent/sdk/abi"
	"github.com/wagent-dev/wagent/sdk/internal/native"
)

// Option grants or sets something for one call. What no option grants is
// refused, as in the sandbox.
type Option func(*call) error

type call struct {
	request abi.Request
	host    native.Host
}

// Config sets what the manifest would have under config.
func Config(v any) Option {
	return func(c *call) (err error) {
		c.request.Config, err = arguments(v)
		return err
	}
}

// Deadline sets how long the call may take. It is told to the tool; nothing
// stops it.
func Deadline(d time.Duration) Option {
	return func(c *call) error {
		c.request.DeadlineMS = d.Milliseconds()
		return nil
	}
}

// HTTP lets answer stand for the network. An answer with Error set is a request
// that the host refused or that got no response; nil is one that nobody answered.
func HTTP(answer func(*abi.HTTPRequest) *abi.HTTPResponse) Option {
	return func(c *call) error {
		c.host.HTTP = answer
		return nil
	}
}

// Handler lets h answer all requests, whatever host they are for. Redirects are
// not followed.
func Handler(h http.Handler) Option {
	return HTTP(func(r *abi.HTTPRequest) *abi.HTTPResponse {
		req, err := http.NewRequest(r.Method, r.URL, bytes.NewReader(r.Body))
		if err != nil {
			return &abi.HTTPResponse{Error: &abi.HTTPError{Code: "invalid", Message: err.Error()}}
		}
		for k, v := range r.Headers {
			req.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		res := &abi.HTTPResponse{Status: w.Code, URL: r.URL, Headers: map[string]string{}, Body: w.Body.Bytes()}
		for k := range w.Result().Header {
			res.Headers[k] = w.Result().Header.Get(k)
		}
		return res
	})
}

// Denied refuses every request with the message of a host.
func Denied(message string) Option {
	return HTTP(func(*abi.HTTPRequest) *abi.HTTPResponse {
		return &abi.HTTPResponse{Error: &abi.HTTPError{Code: "denied", Message: message}}
	})
}

// Folders grants folders. Unlike in the sandbox they are called by their own
// paths, and nothing keeps a tool from others: that is what Granted of package sdk is
// tested with.
func Folders(paths ...string) Option {
	return func(c *call) error {
		c.host.Folders = append(c.host.Folders, paths...)
		return nil
	}
}

// Secrets makes secrets of these names exist.
func Secrets(names ...string) Option {
	return func(c *call) error {
		c.host.Secrets = append(c.host.Secrets, names...)
		return nil
	}
}

// KV grants a store. It is store itself that the tool changes.
func KV(store map[string][]byte) Option {
	return func(c *call) error {
		c.host.KV = store
		return nil
	}
}

// State maps values of a run's state to the tool.
func State(values map[string]any) Option {
	return func(c *call) error {
		if c.host.State == nil {
			c.host.State = make(map[string]json.RawMessage)
		}
		for k, v := range values {
			b, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("state %s: %w", k, err)
			}
			c.host.State[k] = b
		}
		return nil
	}
}
