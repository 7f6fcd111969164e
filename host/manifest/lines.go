package manifest

import (
	"errors"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/wagent-dev/wagent/host/visible"
)

// Lines returns grants and values as the lines of a tool's entry that say just
// them, each line ended. Nothing to say is "". What is in them may come from a
// guest: they are written by the encoder, read back, and an error where that is
// not the same or where an eye would miss a character.
func Lines(allow *Allow, config map[string]any) (string, error) {
	type entry struct {
		Allow  Allow          `yaml:"allow,omitempty"`
		Config map[string]any `yaml:"config,omitempty"`
	}
	want := entry{*allow, config}
	if reflect.ValueOf(want).IsZero() {
		return "", nil
	}
	text, err := yaml.MarshalWithOptions(want, yaml.Indent(2), yaml.IndentSequence(true))
	if err != nil {
		return "", err
	}
	var got entry
	if err := yaml.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
		return "", errors.New("the grant cannot be written as YAML")
	}
	if strings.ContainsFunc(string(text), func(r rune) bool { return r != '\n' && visible.Hidden(r) }) {
		return "", errors.New("the grant has characters that cannot be seen")
	}
	return string(text), nil
}
