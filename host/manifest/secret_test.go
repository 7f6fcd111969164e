package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/policy"
)

const canary = "canary-4f1d9c7e2b"

// withSecret is a manifest whose one tool has a secret.
func withSecret(line string) string {
	return oneTool + "    allow: {http: [{host: a.com}, {host: \"*.b.com\"}, {host: \"http://c.com:8080\"}]}\n    secrets:\n      - " + line + "\n"
}

func TestASecretIsForOneHeaderOfOneOrigin(t *testing.T) {
	dir := folder(t)
	for line, want := range map[string]policy.Secret{
		`{env: TOKEN, host: a.com, header: Authorization, format: "Bearer {}"}`: {Name: "TOKEN", Scheme: "https", Host: "a.com", Port: 443, Header: "Authorization", Format: "Bearer {}"},
		`{env: T, host: x.b.com, header: x-api-key}`:                            {Name: "T", Scheme: "https", Host: "x.b.com", Port: 443, Header: "X-Api-Key", Format: "{}"},
		`{env: T, host: "http://C.com:8080", header: X}`:                        {Name: "T", Scheme: "http", Host: "c.com", Port: 8080, Header: "X", Format: "{}"},
		`{env: T, host: "${HOST}", header: X}`:                                  {Name: "T", Scheme: "https", Host: "a.com", Port: 443, Header: "X", Format: "{}"},
	} {
		m, err := Parse([]byte(withSecret(line)), filepath.Join(dir, "wagent.yaml"), env(map[string]string{"HOST": "a.com"}))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		p, err := m.Tools[0].Policy()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]policy.Secret{want}, p.Grants.Secrets); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

func TestMistakesInSecretsAreTold(t *testing.T) {
	dir := folder(t)
	for line, want := range map[string]string{
		`{host: a.com, header: X}`:                                                   `the field "env" is missing`,
		`{env: T, header: X}`:                                                        `the field "host" is missing`,
		`{env: T, host: a.com}`:                                                      `the field "header" is missing`,
		`{env: T, host: a.com, headr: X}`:                                            `unknown field "headr", did you mean "header"?`,
		`{env: T, host: a.com, header: X, value: ` + canary + `}`:                    `unknown field "value"`,
		`{env: ` + canary + `, host: a.com, header: X}`:                              `tools[0].secrets[0].env: is the name of an environment variable, never the value`,
		`{env: T, host: d.com, header: X}`:                                           `tools[0].secrets[0].host: no line of allow.http covers this host`,
		`{env: T, host: "http://a.com", header: X}`:                                  `no line of allow.http covers this host`,
		`{env: T, host: "*.b.com", header: X}`:                                       `a secret is for one host, without a "*"`,
		`{env: T, host: a.com/x, header: X}`:                                         `a host has no path`,
		`{env: T, host: a.com, header: "a b"}`:                                       `letters, digits and hyphens`,
		`{env: T, host: a.com, header: host}`:                                        `the header Host says how the request is sent`,
		`{env: T, host: a.com, header: Range}`:                                       `the header Range says how the request is sent`,
		`{env: T, host: a.com, header: X, format: Bearer}`:                           `the format has "{}" in it once`,
		`{env: T, host: a.com, header: X, format: "{} {}"}`:                          `the format has "{}" in it once`,
		`{env: T, host: a.com, header: X, format: "\n{}"}`:                           `printable ASCII`,
		"{env: T, host: a.com, header: X}\n      - {env: U, host: a.com, header: x}": `secrets[1].header: another secret is put into the same header for the same host`,
	} {
		_, err := Parse([]byte(withSecret(line)), filepath.Join(dir, "wagent.yaml"), noEnv)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", line, err)
		}
		if fault := (*Error)(nil); errors.As(err, &fault) && fault.Line < 6 {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestValuesOfSecretsAreCheckedAndNeverTold(t *testing.T) {
	dir := folder(t)
	m, err := Parse([]byte(withSecret(`{env: TOKEN, host: a.com, header: X}`)), filepath.Join(dir, "wagent.yaml"), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		"":                               "it is empty",
		canary[:7]:                       "less than 8 characters",
		canary + "\n":                    "begins or ends with a space or a line break",
		canary + "\n" + canary:           "a line break or another character",
		canary + "é":                     "a line break or another character",
		strings.Repeat(canary, 1_000):    "more than 6144 characters",
		"unset":                          "it is not set",
		canary:                           "",
		canary + " " + `with "all" {of}`: "",
	} {
		values := map[string]string{"TOKEN": value}
		if value == "unset" {
			values = nil
		}
		all, err := m.ReadSecrets(env(values))
		got := all[0]
		switch {
		case want == "" && (err != nil || got["TOKEN"] != value):
			t.Errorf("%q: %v %v", value, got, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "wagent.yaml:6:15: ") || len(got) > 0):
			t.Errorf("%q: %v %v", value, got, err)
		case err != nil && strings.Contains(err.Error(), canary[:7]):
			t.Errorf("the value is told: %v", err)
		}
	}
	// Somebody writes the value where its name belongs.
	if m, err = Parse([]byte(withSecret(`{env: ghp_0123456789abcdef, host: a.com, header: X}`)), filepath.Join(dir, "wagent.yaml"), noEnv); err != nil {
		t.Fatal(err)
	}
	if _, err := m.ReadSecrets(noEnv); err == nil || strings.Contains(err.Error(), "ghp_") {
		t.Errorf("got %v", err)
	}
}

// SEC-3: however a manifest is printed, no key and no secret is in it.
func TestSEC3AManifestIsPrintedWithoutKeysAndSecrets(t *testing.T) {
	dir := folder(t)
	src := strings.Replace(withSecret(`{env: TOKEN, host: a.com, header: X}`), "version: 1\n", "version: 1\nmodel: {api_key: \"${KEY}\"}\n", 1)
	m, err := Parse([]byte(src), filepath.Join(dir, "wagent.yaml"), env(map[string]string{"KEY": canary, "TOKEN": canary}))
	if err != nil {
		t.Fatal(err)
	}
	if string(m.Model.APIKey) != canary {
		t.Fatal("the key is not read")
	}
	j, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	y, err := yaml.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		string(j), string(y), fmt.Sprint(m), fmt.Sprintf("%+v", *m), fmt.Sprintf("%#v", *m), fmt.Sprintf("%x", m.Model),
		fmt.Sprintf("%d %s %q", m.Model.APIKey, m.Model.APIKey, &m.Model.APIKey), m.Model.APIKey.String(),
	} {
		if strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) {
			t.Errorf("the key is in %s", text)
		}
	}
	for _, text := range []string{string(j), string(y)} {
		if !strings.Contains(text, masked) || !strings.Contains(text, "TOKEN") {
			t.Errorf("got %s", text)
		}
	}
	if j, err = json.Marshal(Model{}); err != nil || strings.Contains(string(j), "api_key") {
		t.Errorf("%s %v", j, err)
	}
}
