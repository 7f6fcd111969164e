package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/spelling"
)

// shape is what a keyword's value must be.
type shape int

const (
	anything shape = iota
	aSchema
	schemas  // an array of schemas
	named    // an object of schemas
	choices  // an object of schemas or lists of names
	tuple    // a schema, or in draft 07 an array of them
	text     // a string
	regex    // a string that is a regular expression
	local    // a string that refers into the same schema
	names    // an array of strings
	number   // a number
	positive // a number above zero
	count    // a whole number from zero
	flag     // true or false
	values   // an array
	types    // a type or an array of types
	data     // anything, and no schema is in it
	refused
)

func keywordShape(keyword string) shape {
	switch keyword {
	case "not", "if", "then", "else", "contains", "propertyNames", "additionalProperties",
		"additionalItems", "unevaluatedProperties", "unevaluatedItems", "contentSchema":
		return aSchema
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return schemas
	case "properties", "$defs", "definitions", "dependentSchemas", "patternProperties":
		return named
	case "dependencies", "dependentRequired":
		return choices
	case "items":
		return tuple
	case "title", "description", "format", "$comment", "$anchor", "$dynamicAnchor", "contentEncoding", "contentMediaType":
		return text
	case "pattern":
		return regex
	case "$ref", "$dynamicRef":
		return local
	case "required":
		return names
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return number
	case "multipleOf":
		return positive
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return count
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		return flag
	case "enum", "examples":
		return values
	case "type":
		return types
	case "const", "default", "example":
		return data
	case "$schema", "$id", "$vocabulary", "$recursiveRef", "$recursiveAnchor":
		return refused
	}
	return anything
}

func reference(keyword string, v any, at string) *Error {
	target, ok := v.(string)
	if !ok {
		return &Error{Pointer: at, Problem: keyword + " must be a string, found " + showKind(v)}
	}
	if !strings.HasPrefix(target, "#") {
		return &Error{Pointer: at, Problem: keyword + " must stay in this schema, found " + show(target), Hint: `put what it names under $defs and refer to "#/$defs/NAME"`}
	}
	return nil
}

func expression(v any, at string) *Error {
	source, ok := v.(string)
	if !ok {
		return &Error{Pointer: at, Problem: "pattern must be a string, found " + showKind(v)}
	}
	if _, err := compilePattern(source); err != nil {
		return &Error{Pointer: at, Problem: err.Error(), Hint: "regular expressions are those of RE2"}
	}
	return nil
}

func typeNames(v any, at string) *Error {
	if name, ok := v.(string); ok {
		return typeName(name, at)
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return &Error{Pointer: at, Problem: "type must be a string or an array of strings, found " + showKind(v)}
	}
	seen := map[string]bool{}
	for n, item := range list {
		below := at + "/" + strconv.Itoa(n)
		name, ok := item.(string)
		if !ok {
			return &Error{Pointer: below, Problem: "type must be a string, found " + showKind(item)}
		}
		if seen[name] {
			return &Error{Pointer: below, Problem: "the type " + show(name) + " is there twice"}
		}
		seen[name] = true
		if err := typeName(name, below); err != nil {
			return err
		}
	}
	return nil
}

// typeName checks one name and knows what people write for it.
func typeName(name, at string) *Error {
	known := []string{"array", "boolean", "integer", "null", "number", "object", "string"}
	if slices.Contains(known, name) {
		return nil
	}
	also := map[string]string{
		"str": "string", "text": "string", "int": "integer", "bool": "boolean", "float": "number", "double": "number",
		"list": "array", "dict": "object", "map": "object", "none": "null", "nil": "null",
	}
	meant := also[strings.ToLower(name)]
	if meant == "" {
		meant = spelling.Nearest(name, known)
	}
	hint := "use one of " + strings.Join(known, ", ")
	if meant != "" {
		hint = fmt.Sprintf("did you mean %q?", meant)
	}
	return &Error{Pointer: at, Problem: "there is no type " + show(name), Hint: hint}
}

// misshapen returns what v should be, or "" when it is that.
func misshapen(s shape, v any) string {
	switch s {
	case text:
		_, ok := v.(string)
		return unless(ok, "a string")
	case flag:
		_, ok := v.(bool)
		return unless(ok, "true or false")
	case values:
		_, ok := v.([]any)
		return unless(ok, "an array")
	case names:
		return unless(areNames(v), "an array of different strings")
	case number:
		_, ok := v.(json.Number)
		return unless(ok, "a number")
	case positive:
		n, ok := v.(json.Number)
		return unless(ok && rational(n).Sign() > 0, "a number above 0")
	case count:
		n, ok := v.(json.Number)
		return unless(ok && isCount(n), "a whole number from 0 to 2147483647")
	}
	return ""
}

func unless(ok bool, want string) string {
	if ok {
		return ""
	}
	return want
}

func isCount(n json.Number) bool {
	r := rational(n)
	return r.IsInt() && r.Sign() >= 0 && r.Num().IsInt64() && r.Num().Int64() <= 1<<31-1
}

func areNames(v any) bool {
	list, ok := v.([]any)
	seen := map[string]bool{}
	for _, item := range list {
		name, isText := item.(string)
		if !isText || seen[name] {
			return false
		}
		seen[name] = true
	}
	return ok
}

func showKind(v any) string {
	switch v.(type) {
	case string, json.Number, bool:
		return showValue(v)
	}
	return kindOf(v).String()
}

func typeHint(v any) string {
	if name, ok := v.(string); ok && typeName(name, "") == nil {
		return fmt.Sprintf(`write {"type": %q}`, name)
	}
	return ""
}

func shapeHint(s shape, v any) string {
	_, isFlag := v.(bool)
	switch {
	case s == names && isFlag:
		return "required is a list of names, next to properties"
	case s == number && isFlag:
		return "since draft 06 this is the limit itself"
	}
	return ""
}
