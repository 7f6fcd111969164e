package hostfn

// Attack: a response that never ends, unpacks to a thousand times its size,
// hides its size in headers, or lies about it.

import (
	"compress/gzip"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// read reads the response within the limit, and closes it.
func (h *HTTP) read(resp *http.Response, hp hop) (abi.HTTPResponse, error) {
	left := min(h.o.MaxResponse, math.MaxInt64-1)
	for name, values := range resp.Header {
		for _, v := range values {
			left -= int64(len(name) + len(v))
		}
	}
	empty := hp.method == "HEAD" || resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified
	if left < 0 || !empty && resp.ContentLength > left {
		return abi.HTTPResponse{}, closing(resp, h.responseTooLarge())
	}
	var body []byte
	if !empty {
		decode := hp.decodes() && strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip")
		var err error
		if body, err = h.readBody(resp.Body, left, decode); err != nil {
			return abi.HTTPResponse{}, closing(resp, err)
		}
		if decode {
			resp.Header.Del("Content-Encoding")
			resp.Header.Del("Content-Length")
		}
	}
	if err := resp.Body.Close(); err != nil {
		return abi.HTTPResponse{}, err
	}
	return abi.HTTPResponse{
		Status: resp.StatusCode, URL: hp.url.String(), Headers: flatten(resp.Header), Body: body,
	}, nil
}

// readBody reads at most left bytes. What came over the wire is held to the
// same number, as a stream can go on for ever and unpack to nothing.
func (h *HTTP) readBody(r io.Reader, left int64, decode bool) ([]byte, error) {
	wire := &io.LimitedReader{R: r, N: left + 1}
	var plain io.Reader = wire
	if decode {
		z, err := gzip.NewReader(wire)
		if err == io.EOF {
			return nil, nil // announced as gzip, and empty
		}
		if err != nil {
			return nil, notGzip(err)
		}
		plain = z
	}
	body, err := io.ReadAll(io.LimitReader(plain, left+1))
	if int64(len(body)) > left || wire.N <= 0 {
		return nil, h.responseTooLarge()
	}
	if err != nil {
		return nil, notGzip(err)
	}
	return body, nil
}

func (h *HTTP) responseTooLarge() error {
	return tooLarge("the response has more than %d bytes", h.o.MaxResponse)
}

func notGzip(err error) error {
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		return unavailable("the response is damaged")
	}
	return err
}

// flatten joins values as RFC 9110 allows; cookies, which it excepts, are
// joined by newlines.
func flatten(h http.Header) map[string]string {
	out := make(map[string]string, len(h))
	for name, values := range h {
		sep := ", "
		if name == "Set-Cookie" {
			sep = "\n"
		}
		out[name] = strings.Join(values, sep)
	}
	return out
}

// closing closes a response that is not used and returns err.
func closing(resp *http.Response, err error) error {
	return errors.Join(err, resp.Body.Close())
}
