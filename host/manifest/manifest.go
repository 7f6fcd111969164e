// Package manifest reads the file that says what an agent is: its model, its
// loop, its tools, and what each tool may do. Reading is strict: an unknown
// field, a wrong type, a field that this version does not have yet or a module
// that is not there is an [Error] with file, line and column.
//
//	m, err := manifest.Load("wagent.yaml", nil)
package manifest

import (
	"encoding/json"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

// Manifest is an agent's definition. In a Manifest made in Go a zero field
// means the default, as an absent one does in the file.
type Manifest struct {
	Version int    `yaml:"version" json:"version"` // 1
	Name    string `yaml:"name,omitempty" json:"name,omitempty"`
	Model   Model  `yaml:"model,omitempty" json:"model,omitempty"`
	Agent   Agent  `yaml:"agent,omitempty" json:"agent,omitempty"`
	Tools   []Tool `yaml:"tools,omitempty" json:"tools,omitempty"`

	// Path is the file it was read from, Dir the absolute folder that paths are
	// relative to, and Digest "sha256:" and the digest of the file's bytes.
	Path   string `yaml:"-" json:"-"`
	Dir    string `yaml:"-" json:"-"`
	Digest string `yaml:"-" json:"-"`
}

// Model says which language model answers.
type Model struct {
	Provider        string         `yaml:"provider,omitempty" json:"provider,omitempty"`
	Recording       string         `yaml:"recording,omitempty" json:"recording,omitempty"`
	Name            string         `yaml:"name,omitempty" json:"name,omitempty"`
	BaseURL         string         `yaml:"base_url,omitempty" json:"base_url,omitempty"`
	APIKey          string         `yaml:"api_key,omitempty" json:"api_key,omitempty"`
	ContextWindow   int64          `yaml:"context_window,omitempty" json:"context_window,omitempty"`
	Temperature     *float64       `yaml:"temperature,omitempty" json:"temperature,omitempty"`
	MaxOutputTokens int            `yaml:"max_output_tokens,omitempty" json:"max_output_tokens,omitempty"`
	Stream          *bool          `yaml:"stream,omitempty" json:"stream,omitempty"`
	Timeout         Duration       `yaml:"timeout,omitempty" json:"timeout,omitempty"`
	Retry           Retry          `yaml:"retry,omitempty" json:"retry,omitempty"`
	Extra           map[string]any `yaml:"extra,omitempty" json:"extra,omitempty"`
}

// Retry says how often a model call is made again, and when.
type Retry struct {
	Attempts int      `yaml:"attempts,omitempty" json:"attempts,omitempty"`
	Initial  Duration `yaml:"initial,omitempty" json:"initial,omitempty"`
	Max      Duration `yaml:"max,omitempty" json:"max,omitempty"`
}

// Agent says how the loop behaves.
type Agent struct {
	SystemPrompt      string   `yaml:"system_prompt,omitempty" json:"system_prompt,omitempty"`
	Planner           string   `yaml:"planner,omitempty" json:"planner,omitempty"`
	MaxSteps          *int     `yaml:"max_steps,omitempty" json:"max_steps,omitempty"` // nil: 15; 0: no model call is made
	MaxDuration       Duration `yaml:"max_duration,omitempty" json:"max_duration,omitempty"`
	EarlyStopping     string   `yaml:"early_stopping,omitempty" json:"early_stopping,omitempty"`
	ExitConditions    []string `yaml:"exit_conditions,omitempty" json:"exit_conditions,omitempty"`
	ParallelToolCalls int      `yaml:"parallel_tool_calls,omitempty" json:"parallel_tool_calls,omitempty"`
	OnToolError       string   `yaml:"on_tool_error,omitempty" json:"on_tool_error,omitempty"`
}

// Tool is a module and what it may do.
type Tool struct {
	Module       string            `yaml:"module" json:"module"`
	SHA256       string            `yaml:"sha256,omitempty" json:"sha256,omitempty"`
	ABI          string            `yaml:"abi,omitempty" json:"abi,omitempty"`
	Export       string            `yaml:"export,omitempty" json:"export,omitempty"`
	Input        string            `yaml:"input,omitempty" json:"input,omitempty"`
	Name         string            `yaml:"name,omitempty" json:"name,omitempty"`
	Tools        []string          `yaml:"tools,omitempty" json:"tools,omitempty"`
	Rename       map[string]string `yaml:"rename,omitempty" json:"rename,omitempty"`
	Description  string            `yaml:"description,omitempty" json:"description,omitempty"`
	Parameters   map[string]any    `yaml:"parameters,omitempty" json:"parameters,omitempty"`
	Config       map[string]any    `yaml:"config,omitempty" json:"config,omitempty"`
	Limits       Limits            `yaml:"limits,omitempty" json:"limits,omitempty"`
	Allow        Allow             `yaml:"allow,omitempty" json:"allow,omitempty"`
	ReturnDirect bool              `yaml:"return_direct,omitempty" json:"return_direct,omitempty"`
}

// Limits bound one call of the module.
type Limits struct {
	Memory       Size       `yaml:"memory,omitempty" json:"memory,omitempty"`
	Timeout      Duration   `yaml:"timeout,omitempty" json:"timeout,omitempty"`
	Output       Size       `yaml:"output,omitempty" json:"output,omitempty"`
	Logs         Size       `yaml:"logs,omitempty" json:"logs,omitempty"`
	HTTPResponse Size       `yaml:"http_response,omitempty" json:"http_response,omitempty"`
	HTTPRequests int        `yaml:"http_requests,omitempty" json:"http_requests,omitempty"`
	Files        FileLimits `yaml:"files,omitempty" json:"files,omitempty"`
}

// FileLimits bound what a call does with its folders.
type FileLimits struct {
	Bytes Size `yaml:"bytes,omitempty" json:"bytes,omitempty"`
	Count int  `yaml:"count,omitempty" json:"count,omitempty"`
	Open  int  `yaml:"open,omitempty" json:"open,omitempty"`
}

// Allow opens doors. What is not in it is denied.
type Allow struct {
	HTTP            []HTTPRule        `yaml:"http,omitempty" json:"http,omitempty"`
	Read            map[string]string `yaml:"read,omitempty" json:"read,omitempty"`   // host folder: guest folder
	Write           map[string]string `yaml:"write,omitempty" json:"write,omitempty"` // host folder: guest folder
	Env             map[string]string `yaml:"env,omitempty" json:"env,omitempty"`
	PrivateNetworks bool              `yaml:"private_networks,omitempty" json:"private_networks,omitempty"`
	Clock           string            `yaml:"clock,omitempty" json:"clock,omitempty"`
	Random          string            `yaml:"random,omitempty" json:"random,omitempty"`
}

// HTTPRule allows requests to one host: "[http://]name[:port]".
type HTTPRule struct {
	Host    string   `yaml:"host" json:"host"`
	Methods []string `yaml:"methods,omitempty" json:"methods,omitempty"`
	Paths   []string `yaml:"paths,omitempty" json:"paths,omitempty"`
}

// Size is a number of bytes, written "64MiB" or "8KB". Zero: the default.
type Size int64

// Duration is written as a Go duration, "2m" or "500ms". Zero: the default.
type Duration time.Duration

// Policy returns what the module may use: the defaults, with what the entry
// says instead of them. The error is an [*Error] where the entry came from a file.
func (t *Tool) Policy() (policy.Policy, error) { panic("being written") }

// ParametersJSON returns the schema of the tool's arguments, or nil.
func (t *Tool) ParametersJSON() json.RawMessage { panic("being written") }
