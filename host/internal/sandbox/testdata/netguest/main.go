//go:build wasip1

// The guest of the network's tests that is made with the SDK: makes the requests
// that its arguments list and answers what came of each.
package main

import (
	"encoding/json"
	"errors"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// Args are the requests of one call.
type Args struct {
	Requests []json.RawMessage `json:"requests"`
	Times    int               `json:"times,omitempty"`   // how often the list is gone through
	Body     int               `json:"body,omitempty"`    // bytes that are sent instead of a request's own
	Discard  bool              `json:"discard,omitempty"` // answer nothing
}

// Reply is what came of a request: a response, or a kind of error.
type Reply struct {
	Kind    string            `json:"kind,omitempty"`
	Message string            `json:"message,omitempty"`
	Status  int               `json:"status,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
}

func main() {}

func init() { sdk.Tool("requests", "Makes requests.", requests) }

func requests(c *sdk.Call, a Args) (string, error) {
	var list []abi.HTTPRequest
	for _, raw := range a.Requests {
		var req abi.HTTPRequest
		if err := json.Unmarshal(raw, &req); err != nil {
			return "", err
		}
		if a.Body > 0 {
			req.Body = make([]byte, a.Body)
		}
		list = append(list, req)
	}
	replies := []Reply{}
	for range max(1, a.Times) {
		for i := range list {
			r := reply(c, &list[i])
			if a.Discard && r.Kind == "" {
				continue
			}
			replies = append(replies, r)
		}
	}
	b, err := json.Marshal(replies)
	return string(b), err
}

func reply(c *sdk.Call, req *abi.HTTPRequest) Reply {
	res, err := sdk.Do(c, req)
	if known, ok := errors.AsType[*abi.Error](err); ok {
		return Reply{Kind: string(known.Kind), Message: known.Message}
	}
	if err != nil {
		return Reply{Kind: "?", Message: err.Error()}
	}
	return Reply{Status: res.Status, URL: res.URL, Headers: res.Headers, Body: string(res.Body)}
}
