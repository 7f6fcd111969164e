package manifest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
)

// source is this package's file of types: the comments in it are the schema's
// descriptions.
//
//go:embed manifest.go
var source string

// SchemaID is the name of the JSON Schema.
const SchemaID = "https://wagent.dev/schema/wagent-1.json"

// Schema returns the JSON Schema (draft 2020-12) of the file, indented. It is
// made from the Go types, so that it says what [Parse] wants.
func Schema() ([]byte, error) {
	docs, err := comments()
	if err != nil {
		return nil, fmt.Errorf("reading the comments of the manifest's types: %w", err)
	}
	r := &jsonschema.Reflector{
		FieldNameTag: "yaml", ExpandedStruct: true, Mapper: unitSchema,
		LookupComment: func(t reflect.Type, field string) string { return docs[t.Name()+"."+field] },
	}
	s := r.ReflectFromType(reflect.TypeFor[Manifest]())
	s.ID, s.Title = SchemaID, "wagent manifest"
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the schema: %w", err)
	}
	return append(out, '\n'), nil
}

// unitSchema says how the types that are written as text look.
func unitSchema(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[Size]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			{Type: "string", Pattern: `^[0-9]+ ?([KMGT]i?B|B)?$`},
			{Type: "integer", Minimum: "1"},
		}}
	case reflect.TypeFor[Fuel]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			{Type: "string", Pattern: `^[0-9]+ ?[KMGT]?$`},
			{Type: "integer", Minimum: "1"},
		}}
	case reflect.TypeFor[OnParseError]():
		said := object("text", &jsonschema.Schema{Type: "string", MinLength: new(uint64(1)), Description: "What the model is told."})
		module := object("module", &jsonschema.Schema{
			Type: "string", MinLength: new(uint64(1)),
			Description: "A module with the role parse_error, which makes what the model is told of the error and the reply. It has 1 s and no grants. ${NAME} is expanded.",
		})
		module.Properties.Set("config", &jsonschema.Schema{Type: "object", Description: "Plain values that the module may read. ${NAME} is expanded."})
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string", Enum: []any{"feedback", "fail"}}, said, module}}
	case reflect.TypeFor[Duration]():
		return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`}
	}
	return nil
}

// object is a schema with one member that must be there.
func object(name string, member *jsonschema.Schema) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), Required: []string{name}, AdditionalProperties: jsonschema.FalseSchema}
	s.Properties.Set(name, member)
	return s
}

// comments returns the comment of each field, and of each type under "Type.".
func comments() (map[string]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "manifest.go", source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	docs := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		fields, ok := spec.Type.(*ast.StructType)
		if !ok {
			return false
		}
		for _, field := range fields.Fields.List {
			for _, name := range field.Names {
				docs[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
			}
		}
		return false
	})
	return docs, nil
}
