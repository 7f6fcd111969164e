package hostfn

// Attack: an error text carries what a guest or server wrote to a person's
// terminal, or what only the host knows (its resolver, its addresses) to the guest.

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/wagent-dev/wagent/host/visible"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// maxMessage bounds a message, in bytes.
const maxMessage = 256

// httpFault is why there is no response, in words of ours.
type httpFault struct {
	code, message string
	target        *target // that no rule covers; nil: it is something else
}

func (f *httpFault) Error() string { return f.message }

// error returns the fault as the guest gets it.
func (f *httpFault) error() *abi.HTTPError {
	return &abi.HTTPError{Code: f.code, Message: visible.Line(f.message, maxMessage)}
}

func denied(format string, args ...any) *httpFault      { return fault("denied", format, args) }
func invalid(format string, args ...any) *httpFault     { return fault("invalid", format, args) }
func tooLarge(format string, args ...any) *httpFault    { return fault("too_large", format, args) }
func tooMany(format string, args ...any) *httpFault     { return fault("too_many", format, args) }
func timeout(format string, args ...any) *httpFault     { return fault("timeout", format, args) }
func unavailable(format string, args ...any) *httpFault { return fault("unavailable", format, args) }

func fault(code, format string, args []any) *httpFault {
	return &httpFault{code: code, message: fmt.Sprintf(format, args...)}
}

var (
	errPrivate   = denied("the host leads to a private, loopback or own address; to allow it: allow.private_networks: true")
	errNoAddress = unavailable("the name has no address")
)

// explain puts any error into one of our faults.
func explain(ctx context.Context, err error) *httpFault {
	if f, ok := errors.AsType[*httpFault](err); ok {
		return f
	}
	if ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) || isTimeout(err) {
		return timeout("no response before the deadline")
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return unavailable("the name does not resolve")
		}
		return unavailable("the name could not be looked up")
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return unavailable("the server's certificate is not trusted")
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return unavailable("the server refuses connections")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return unavailable("the connection ended before the response did")
	// net/http has no error value for this.
	case strings.Contains(err.Error(), "response headers exceeded"):
		return tooLarge("the response's headers are too large")
	}
	return unavailable("the request went wrong on the way")
}

func isTimeout(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout()
}
