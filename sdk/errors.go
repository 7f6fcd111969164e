package sdk

import (
	"errors"
	"fmt"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// Errorf returns an error that tells the model what it may do about it: call
// again with other arguments ([abi.Input]), ask a person ([abi.AuthRequired]),
// wait ([abi.RateLimited], [abi.Unavailable]), or give up. It is an *[abi.Error];
// a %w in the format adds the other error's message only.
func Errorf(kind abi.ErrorKind, format string, args ...any) error {
	return &abi.Error{Kind: kind, Message: fmt.Errorf(format, args...).Error()}
}

// toolError is what the host is told of an error of a tool. A kind that is
// somewhere in the chain is kept; the message is that of the whole chain.
func toolError(err error) *abi.Error {
	var known *abi.Error
	switch {
	case !errors.As(err, &known):
		return &abi.Error{Kind: abi.Internal, Message: err.Error()}
	case known == nil: // a variable of type *abi.Error that was returned unset
		return &abi.Error{Kind: abi.Internal, Message: "the tool returned a nil *abi.Error as its error"}
	}
	e := *known
	e.Message = err.Error()
	if e.Kind == "" {
		e.Kind = abi.Internal
	}
	return &e
}
