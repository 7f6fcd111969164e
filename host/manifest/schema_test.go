package manifest

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write the golden files anew")

// allFields are the names of all fields of the format, by type.
func allFields() map[string][]string {
	all := map[string][]string{}
	for _, t := range []reflect.Type{
		reflect.TypeFor[Manifest](), reflect.TypeFor[Model](), reflect.TypeFor[Retry](), reflect.TypeFor[Fallback](), reflect.TypeFor[Compat](), reflect.TypeFor[Agent](), reflect.TypeFor[Tool](),
		reflect.TypeFor[Limits](), reflect.TypeFor[FileLimits](), reflect.TypeFor[Allow](), reflect.TypeFor[HTTPRule](),
	} {
		all[t.Name()], _ = fieldsOf(t)
	}
	return all
}

func TestTheSchemaIsTheOneThatIsShipped(t *testing.T) {
	got, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "wagent.schema.json")
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("go test ./host/manifest -update writes it anew: %s", diff)
	}
}

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	raw, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(SchemaID, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fits(t *testing.T, s *jsonschema.Schema, src string) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(src), &v); err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return s.Validate(v)
}

func TestTheSchemaAcceptsWhatIsReadAndRefusesWhatIsNot(t *testing.T) {
	s := schema(t)
	for _, name := range []string{"full.yaml", "small.yaml"} {
		if err := fits(t, s, string(example(t, name))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, src := range []string{oneTool + "    instances: session\n", oneAgent + "    name: a\n"} {
		if err := fits(t, s, src); err != nil {
			t.Error(err)
		}
	}
	for _, src := range []string{
		"name: a\n", "version: 2\n", "version: \"1\"\n", "version: 1\nmodle: {}\n", "version: 1\nhooks: {}\n", "version: 1\nname: 12\n", "version: 1\nname: a b\n",
		"version: 1\ntools: {}\n", "version: 1\nmodel: {provider: opanai}\n", "version: 1\nmodel: {temperature: 3}\n", "version: 1\nmodel: {timeout: 30}\n",
		"version: 1\nmodel: {timeout: 2 minutes}\n", "version: 1\nmodel: {context_window: 0}\n", "version: 1\nmodel: {retry: {attempts: 99}}\n",
		"version: 1\nagent: {planner: reakt}\n", "version: 1\nagent: {early_stopping: generte}\n", "version: 1\nagent: {max_steps: -1}\n",
		"version: 1\nagent: {parallel_tool_calls: 0}\n", "version: 1\nagent: {exit_conditions: text}\n", "version: 1\ntools:\n  - name: a\n",
		oneTool + "    sha256: abc\n", oneTool + "    abi: wasm\n", oneTool + "    name: a.b\n", oneTool + "    instances: run\n", oneTool + "    secrets: {}\n", oneTool + "    secrets: [{env: A}]\n",
		oneTool + "    limits: {memory: 64Mib}\n", oneTool + "    limits: {memory: 0}\n", oneTool + "    limits: {memry: 1MiB}\n", oneTool + "    limits: {http_requests: 0}\n",
		oneTool + "    agent: a.yaml\n", "version: 1\ntools:\n  - agent: \"\"\n",
		oneTool + "    allow: {http: [{}]}\n", oneTool + "    allow: {read: [docs]}\n", oneTool + "    allow: {clock: now}\n",
	} {
		if err := fits(t, s, src); err == nil {
			t.Errorf("the schema accepts %s", src)
		}
	}
}

func TestEveryFieldOfTheSchemaHasADescription(t *testing.T) {
	docs, err := comments()
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[Manifest](), reflect.TypeFor[Model](), reflect.TypeFor[Retry](), reflect.TypeFor[Fallback](), reflect.TypeFor[Compat](), reflect.TypeFor[Agent](), reflect.TypeFor[Tool](),
		reflect.TypeFor[Limits](), reflect.TypeFor[FileLimits](), reflect.TypeFor[Allow](), reflect.TypeFor[HTTPRule](),
	} {
		_, index := fieldsOf(typ)
		for name, i := range index {
			if docs[typ.Name()+"."+typ.Field(i).Name] == "" {
				t.Errorf("%s of %s has none", name, typ.Name())
			}
		}
	}
}
