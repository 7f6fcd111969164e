package sdk

import (
	"encoding/json"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// Option says more about a tool. [Requests] is one; the functions that return
// an Option make the others.
type Option interface {
	apply(*abi.Tool)
}

type optionFunc func(*abi.Tool)

func (f optionFunc) apply(t *abi.Tool) { f(t) }

// Requests is what the module would like to be granted, and why. It is shown to
// the person who decides and grants nothing by itself.
type Requests abi.Requests

func (r Requests) apply(t *abi.Tool) {
	requests := abi.Requests(r)
	t.Meta = &abi.Meta{Requests: &requests}
}

// Title sets the name that people see.
func Title(title string) Option {
	return optionFunc(func(t *abi.Tool) { t.Title = title })
}

// ReadOnly says that the tool changes nothing.
func ReadOnly() Option {
	return annotate(func(a *abi.Annotations) { a.ReadOnlyHint = new(true) })
}

// Destructive says that the tool may delete or overwrite something.
func Destructive() Option {
	return annotate(func(a *abi.Annotations) { a.DestructiveHint = new(true) })
}

// Idempotent says that calling the tool again with the same arguments changes
// nothing further, so that a host may repeat a call it is not sure about.
func Idempotent() Option {
	return annotate(func(a *abi.Annotations) { a.IdempotentHint = new(true) })
}

// OpenWorld says that the tool reaches things outside of its host, such as the
// web.
func OpenWorld() Option {
	return annotate(func(a *abi.Annotations) { a.OpenWorldHint = new(true) })
}

// InputSchema replaces the schema that is derived from the arguments. The
// arguments are still decoded into their type.
func InputSchema(schema json.RawMessage) Option {
	return optionFunc(func(t *abi.Tool) { t.InputSchema = schema })
}

// OutputSchema replaces the schema that is derived from the result. Nil removes
// it.
func OutputSchema(schema json.RawMessage) Option {
	return optionFunc(func(t *abi.Tool) { t.OutputSchema = schema })
}

func annotate(set func(*abi.Annotations)) Option {
	return optionFunc(func(t *abi.Tool) {
		if t.Annotations == nil {
			t.Annotations = &abi.Annotations{}
		}
		set(t.Annotations)
	})
}
