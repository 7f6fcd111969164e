package sandbox

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// Attack: a plugin reaches a host that was not granted, as the SDK's own client
// would by way of a redirect. Requests go where those of the wagent ABI go.

// extismRequest is what a plugin hands to http_request.
type extismRequest struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
}

// extismHTTP makes a request and returns the block with the response's body. A
// plugin cannot be told what went wrong: a refusal is a fault, anything else
// the tool's error.
func extismHTTP(s *extismState, v []uint64) error {
	s.status, s.headers = 0, nil
	req, err := s.request(v[0], v[1])
	if err != nil {
		return err
	}
	resp := s.send(req)
	if err := s.guest.ctx.Err(); err != nil {
		return err
	}
	if e := resp.Error; e != nil && e.Code == "denied" {
		return fault(FaultDenied, "the tool made an HTTP request that it was not granted: %s", e.Message)
	} else if e != nil {
		return &pluginError{"the tool's HTTP request failed: " + e.Code + ": " + e.Message}
	}
	s.status = int32(resp.Status)
	if s.headers, err = extismHeaders(resp.Headers); err != nil {
		return err
	}
	v[0], err = s.give(resp.Body)
	return err
}

// request reads a request, and frees the blocks that it was in.
func (s *extismState) request(head, body uint64) (abi.HTTPRequest, error) {
	raw, err := s.bytes(head)
	if err != nil {
		return abi.HTTPRequest{}, err
	}
	s.release(head)
	var in extismRequest
	switch {
	case len(raw) > maxHTTPRequest:
		return abi.HTTPRequest{}, hostTrap("an HTTP request of more than 2 MiB")
	case json.Unmarshal(raw, &in) != nil:
		return abi.HTTPRequest{}, hostTrap("an HTTP request that is not valid JSON")
	}
	out := abi.HTTPRequest{Method: strings.ToUpper(cmp.Or(in.Method, "GET")), URL: in.URL, Headers: in.Headers}
	if body == 0 {
		return out, nil
	}
	data, err := s.bytes(body)
	if err != nil {
		return out, err
	}
	s.release(body)
	// One byte more than is allowed shows that it is too much.
	out.Body = append([]byte(nil), data[:min(len(data), maxHTTPBody+1)]...)
	return out, nil
}

// send makes the request, or has it refused by a client without a grant, whose
// message names the line to add.
func (s *extismState) send(req abi.HTTPRequest) abi.HTTPResponse {
	if s.guest.http != nil {
		return s.guest.http.Do(s.guest.ctx, req)
	}
	req.Body, req.Headers = nil, nil
	none := hostfn.NewHTTP(nil, hostfn.HTTPOptions{})
	resp := none.Session().Do(s.guest.ctx, req)
	if resp.Error == nil || resp.Error.Code != "denied" {
		resp.Error = &abi.HTTPError{Code: "denied", Message: "no grant covers it"}
	}
	if none.Close() != nil {
		resp.Error.Message = "no grant covers it"
	}
	return resp
}

func extismHeaders(in map[string]string) ([]byte, error) {
	out := make(map[string]string, len(in))
	for name, value := range in {
		out[strings.ToLower(name)] = value
	}
	return json.Marshal(out)
}

// extismHTTPHeaders returns the headers of the last response as a JSON object,
// 0 before there is one.
func extismHTTPHeaders(s *extismState, v []uint64) (err error) {
	v[0], err = s.give(s.headers)
	return err
}
