package openai

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	api "github.com/sashabaranov/go-openai"

	"github.com/wagent-dev/wagent/host/model"
)

const maxWireName = 64

// wireName writes a tool's name with the characters that all endpoints take:
// letters, digits, _ and -, at most 64 of them, the first a letter or _. It
// depends on the name alone, so that a tool of the history which is not offered
// any more keeps its name.
func wireName(name string) string {
	if legalName(name) {
		return name
	}
	var b strings.Builder
	for i, r := range name {
		switch {
		case isLetter(r) || r == '_':
			b.WriteRune(r)
		case isDigit(r) || r == '-':
			if i == 0 {
				b.WriteByte('_')
			}
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	s := b.String()
	if s == "" {
		return "unnamed"
	}
	if len(s) > maxWireName {
		sum := sha256.Sum256([]byte(name))
		s = s[:maxWireName-9] + "_" + hex.EncodeToString(sum[:4])
	}
	return s
}

func legalName(s string) bool {
	if s == "" || len(s) > maxWireName || isDigit(rune(s[0])) || s[0] == '-' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !isLetter(r) && !isDigit(r) && r != '_' && r != '-'
	})
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
func isDigit(r rune) bool  { return r >= '0' && r <= '9' }

// toolset is the tools of a request as they go over the wire.
type toolset struct {
	defs   []model.Definition
	list   []api.Tool
	wire   json.RawMessage   // nil: none
	byWire map[string]string // wire name to our name
	ours   map[string]bool
	tokens int64 // what they cost, estimated

	once  sync.Once
	plain json.RawMessage // wire, with plain schemas
	err   error
}

func newToolset(defs []model.Definition) (*toolset, error) {
	t := &toolset{
		defs:   cloneDefs(defs),
		byWire: make(map[string]string, len(defs)),
		ours:   make(map[string]bool, len(defs)),
		tokens: model.EstimateTokens(&model.Request{Tools: defs}),
	}
	if len(defs) == 0 {
		return t, nil
	}
	tools := make([]api.Tool, len(defs))
	for i, d := range defs {
		name := wireName(d.Name)
		if other, taken := t.byWire[name]; taken {
			return nil, rejected(fmt.Sprintf("the tools %q and %q have the same name %q on the wire: rename one", other, d.Name, name))
		}
		t.byWire[name] = d.Name
		t.ours[d.Name] = true
		params, err := parameters(d.Parameters)
		if err != nil {
			return nil, rejected(fmt.Sprintf("the parameters of tool %q: %v", d.Name, err))
		}
		tools[i] = api.Tool{Type: api.ToolTypeFunction, Function: &api.FunctionDefinition{
			Name: name, Description: d.Description, Parameters: params,
		}}
	}
	wire, err := json.Marshal(tools)
	if err != nil {
		return nil, rejected(fmt.Sprintf("encode tools: %v", err))
	}
	t.list, t.wire = tools, wire
	return t, nil
}

// encoded is the tools as they are sent, nil where there are none.
func (t *toolset) encoded(plain bool) (json.RawMessage, error) {
	if !plain || t.wire == nil {
		return t.wire, nil
	}
	t.once.Do(func() {
		list := slices.Clone(t.list)
		for i := range list {
			fn := *list[i].Function
			schema, _ := fn.Parameters.(json.RawMessage) // made by parameters
			if fn.Parameters, t.err = plainSchema(schema); t.err != nil {
				return
			}
			list[i].Function = &fn
		}
		t.plain, t.err = json.Marshal(list)
	})
	return t.plain, t.err
}

// parameters is a schema that no endpoint refuses for what it lacks: an object
// with properties.
func parameters(schema json.RawMessage) (json.RawMessage, error) {
	trimmed := bytes.TrimSpace(schema)
	if len(trimmed) == 0 || string(trimmed) == "null" {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(trimmed, &members); err != nil {
		return nil, fmt.Errorf("not a JSON Schema of an object: %w", err)
	}
	_, typed := members["type"]
	_, listed := members["properties"]
	if typed && listed {
		return trimmed, nil
	}
	if !typed {
		members["type"] = json.RawMessage(`"object"`)
	}
	if !listed {
		members["properties"] = json.RawMessage(`{}`)
	}
	return json.Marshal(members)
}

// same says whether t was made of defs.
func (t *toolset) same(defs []model.Definition) bool {
	return slices.EqualFunc(t.defs, defs, func(a, b model.Definition) bool {
		return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Parameters, b.Parameters)
	})
}

func cloneDefs(defs []model.Definition) []model.Definition {
	out := slices.Clone(defs)
	for i := range out {
		out[i].Parameters = slices.Clone(out[i].Parameters)
	}
	return out
}

// resolve turns a name that a model wrote into one of ours. Prefixes that
// models are known to put before a name are taken off only when the rest is a
// tool on offer; changed says that this was done. A name that leads nowhere
// stays as it is, for the loop to answer.
func (t *toolset) resolve(name string) (ours string, changed bool) {
	name = strings.TrimSpace(name)
	if n, ok := t.offered(name); ok {
		return n, false
	}
	for _, prefix := range []string{"default_api:", "default_api.", "functions.", "functions:", "function.", "tools.", "tool."} {
		rest, found := strings.CutPrefix(name, prefix)
		if !found {
			continue
		}
		if n, ok := t.offered(rest); ok {
			return n, true
		}
	}
	return name, false
}

func (t *toolset) offered(name string) (string, bool) {
	if n, ok := t.byWire[name]; ok {
		return n, true
	}
	return name, t.ours[name]
}

// extends says whether some offered name begins with s.
func (t *toolset) extends(s string) bool {
	for name := range t.byWire {
		if strings.HasPrefix(name, s) {
			return true
		}
	}
	return false
}
