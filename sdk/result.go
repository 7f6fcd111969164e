package sdk

import (
	"fmt"
	"reflect"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// Texter is a result that has a better text for a model than its JSON, such as
// a table. The structured content is the JSON nevertheless.
type Texter interface {
	Text() string
}

// Text returns a result of one text.
func Text(text string) abi.Result {
	return abi.Result{Content: []abi.Content{{Type: "text", Text: text}}}
}

// resultType is the one struct that has no schema: it is an answer already.
var resultType = reflect.TypeFor[abi.Result]()

// encode makes a result of what a tool returned.
func encode(v any) (abi.Result, error) {
	switch v := v.(type) {
	case abi.Result:
		return v, nil
	case *abi.Result:
		if v == nil {
			return abi.Result{}, nil
		}
		return *v, nil
	case string:
		return Text(v), nil
	}
	b, err := marshal(v)
	if err != nil {
		return abi.Result{}, fmt.Errorf("result: %w", err)
	}
	res := Text(string(b))
	if t, ok := v.(Texter); ok {
		res = Text(t.Text())
	}
	if b[0] == '{' {
		res.StructuredContent = b
	}
	return res, nil
}
