package sdk

import (
	"errors"
	"fmt"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// Do sends an HTTP request through the host, which decides whether the module
// may reach that host, follows redirects and adds the secrets it was told to
// add. It blocks until the whole body is there.
//
// An answer of any status is no error. Without an answer the error is an
// *[abi.Error]: [abi.AuthRequired] if no grant covers the request, and then its
// message says what a person has to add to the manifest, so it should be passed
// on as it is; [abi.Input] if the request is not well formed, or it or the answer
// is too large; [abi.RateLimited] if the call made too many; [abi.Unavailable] if
// the other side did not answer in time.
func Do(c *Call, req *abi.HTTPRequest) (*abi.HTTPResponse, error) {
	b, err := writeHTTPRequest(req)
	if err != nil {
		return nil, fmt.Errorf("http request: %w", err)
	}
	answer, err := hostHTTP(c, b)
	if err != nil {
		return nil, refused("http request", err)
	}
	res, err := readHTTPResponse(answer)
	if err != nil {
		return nil, fmt.Errorf("http response of the host: %w", err)
	}
	if res.Error != nil {
		return nil, &abi.Error{Kind: httpKind(res.Error.Code), Message: res.Error.Message}
	}
	return &res, nil
}

// Get is [Do] for a plain GET.
func Get(c *Call, url string) (*abi.HTTPResponse, error) {
	return Do(c, &abi.HTTPRequest{Method: "GET", URL: url})
}

// httpKind says what a model may do about a request without a response.
func httpKind(code string) abi.ErrorKind {
	switch code {
	case "denied":
		return abi.AuthRequired
	case "invalid", "too_large":
		return abi.Input
	case "too_many":
		return abi.RateLimited
	case "timeout", "unavailable":
		return abi.Unavailable
	default:
		return abi.Internal
	}
}

// refused makes a tool's error of the number that a host function returned.
func refused(what string, err error) error {
	var n abi.Errno
	if !errors.As(err, &n) {
		return fmt.Errorf("%s: %w", what, err)
	}
	kind := abi.Internal
	switch n {
	case abi.ErrDenied:
		kind = abi.AuthRequired
	case abi.ErrInvalid, abi.ErrTooLarge:
		kind = abi.Input
	case abi.ErrTooMany:
		kind = abi.RateLimited
	case abi.ErrTimeout, abi.ErrUnavailable:
		kind = abi.Unavailable
	case abi.ErrNotFound:
		kind = abi.NotFound
	}
	return Errorf(kind, "%s: %w", what, n)
}
