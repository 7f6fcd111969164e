package sdk

import (
	"encoding/json"
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
	switch b[0] {
	case '{':
		res.StructuredContent = b
	case '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return abi.Result{}, fmt.Errorf("result: %w", err)
		}
		res = Text(s)
	}
	// A nil pointer has the method too, and no text.
	if t, ok := v.(Texter); ok && string(b) != "null" {
		res.Content = Text(t.Text()).Content
	}
	return res, nil
}
