package sdk

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// readRequest reads what the host asks for. It shares memory with data.
func readRequest(data []byte) (req abi.Request, err error) {
	if req, ok := scanRequest(data); ok {
		return req, nil
	}
	err = json.Unmarshal(data, &req)
	return req, err
}

func scanRequest(data []byte) (req abi.Request, ok bool) {
	s := scanner{data: data}
	ok = s.fields(func(name string) (ok bool) {
		switch name {
		case "v":
			req.V, ok = s.integer()
		case "id":
			req.ID, ok = s.string()
		case "tool":
			req.Tool, ok = s.string()
		case "arguments":
			req.Arguments, ok = s.raw()
		case "config":
			req.Config, ok = s.raw()
		case "deadline_ms":
			var ms int
			ms, ok = s.integer()
			req.DeadlineMS = int64(ms)
		case "run":
			ok = s.run(&req.Run)
		}
		return ok
	})
	return req, ok && s.end()
}

func (s *scanner) run(r *abi.RunRef) bool {
	return s.fields(func(name string) (ok bool) {
		switch name {
		case "id":
			r.ID, ok = s.string()
		case "step":
			r.Step, ok = s.integer()
		}
		return ok
	})
}

// readHTTPResponse reads what the host says of an HTTP request. It takes data over.
func readHTTPResponse(data []byte) (res abi.HTTPResponse, err error) {
	if res, ok := scanHTTPResponse(data); ok {
		return res, nil
	}
	err = json.Unmarshal(data, &res)
	return res, err
}

// maxLent is how large a response is whose texts share its memory. A tool that keeps
// one of them keeps all of it.
const maxLent = 4 << 10

func scanHTTPResponse(data []byte) (res abi.HTTPResponse, ok bool) {
	s := scanner{data: data, lends: len(data) <= maxLent}
	ok = s.fields(func(name string) (ok bool) {
		switch name {
		case "status":
			res.Status, ok = s.integer()
		case "url":
			res.URL, ok = s.string()
		case "headers":
			res.Headers = make(map[string]string)
			ok = s.members(func(name string) (ok bool) {
				res.Headers[name], ok = s.string()
				return ok
			})
		case "body":
			res.Body, ok = s.base64()
		}
		return ok
	})
	return res, ok && s.end()
}

// fields reads an object in which no name comes twice: encoding/json merges what
// does.
func (s *scanner) fields(field func(name string) bool) bool {
	seen := make([]string, 0, 8)
	return s.members(func(name string) bool {
		if slices.Contains(seen, name) {
			return false
		}
		seen = append(seen, name)
		return field(name)
	})
}

func (s *scanner) string() (string, bool) {
	if s.next() != '"' {
		return "", false
	}
	return s.text()
}

func (s *scanner) integer() (int, bool) {
	s.next()
	n, ok := s.number()
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(n)
	return i, err == nil
}

// base64 reads a string of bytes, without a copy of the string.
func (s *scanner) base64() ([]byte, bool) {
	if s.next() != '"' {
		return nil, false
	}
	written, plain, ok := s.written()
	if !ok || !plain {
		return nil, false
	}
	b := make([]byte, base64.StdEncoding.DecodedLen(len(written)))
	n, err := base64.StdEncoding.Decode(b, written)
	return b[:n], err == nil
}
