// Package manifest reads the file that says what an agent is: its model, its
// loop, its tools, and what each tool may do. Reading is strict: an unknown
// field, a wrong type, a field that this version does not have yet or a module
// that is not there is an [Error] with file, line and column, and all of them
// are told at once: those of the text by [Load], those of what it names by
// [Manifest.Check].
//
//	m, err := manifest.Load("wagent.yaml", nil)
package manifest

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

// The comments of the fields below are the descriptions in the JSON Schema that
// editors show.

// Manifest is an agent's definition. In a Manifest made in Go a zero field
// means the default, as an absent one does in the file.
type Manifest struct {
	// The version of this format: 1.
	Version int `yaml:"version" json:"version" jsonschema:"enum=1"`
	// The agent's name.
	Name string `yaml:"name,omitempty" json:"name,omitempty" jsonschema:"pattern=^[A-Za-z_][A-Za-z0-9_-]{0\\,63}$"`
	// What the agent does, for the model of another agent that has it as a tool.
	Description string `yaml:"description,omitempty" json:"description,omitempty"`
	// The language model that answers.
	Model Model `yaml:"model,omitempty" json:"model,omitempty"`
	// How the loop behaves.
	Agent Agent `yaml:"agent,omitempty" json:"agent,omitempty"`
	// The modules whose tools the model may call, and what each may do.
	Tools []Tool `yaml:"tools,omitempty" json:"tools,omitempty" jsonschema:"maxItems=1000"`
	// What the receipts of calls hold beside what they always do.
	Receipts Receipts `yaml:"receipts,omitempty" json:"receipts,omitempty"`

	// Path is the file it was read from, Dir the absolute folder that paths are
	// relative to, and Digest "sha256:" and the digest of the file's bytes.
	Path   string `yaml:"-" json:"-"`
	Dir    string `yaml:"-" json:"-"`
	Digest string `yaml:"-" json:"-"`

	origin   *origin
	warnings []Warning
}

// Receipts says what is measured for the receipts of calls.
type Receipts struct {
	// Whether the work of each call is counted exactly, in the units of limits.fuel. Tools run up to a fifth slower. Default: false.
	Fuel bool `yaml:"fuel,omitempty" json:"fuel,omitempty"`
}

// Model says which language model answers.
type Model struct {
	// Who answers: openai is any endpoint that is compatible with it, replay is a recording, offline. Default: openai.
	Provider string `yaml:"provider,omitempty" json:"provider,omitempty" jsonschema:"enum=openai,enum=replay"`
	// The file that provider replay plays. ${NAME} is expanded.
	Recording string `yaml:"recording,omitempty" json:"recording,omitempty" expand:"true"`
	// The model's name at the provider.
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	// The address of the endpoint. ${NAME} is expanded. Default: https://api.openai.com/v1.
	BaseURL string `yaml:"base_url,omitempty" json:"base_url,omitempty" expand:"true"`
	// The key of the endpoint. Write ${NAME}, which is expanded, and keep the key out of the file.
	APIKey Key `yaml:"api_key,omitempty" json:"api_key,omitempty" expand:"true"`
	// How many tokens the model takes. Default: not known.
	ContextWindow int64 `yaml:"context_window,omitempty" json:"context_window,omitempty" jsonschema:"minimum=1,maximum=1000000000"`
	// Sent when it is given.
	Temperature *float64 `yaml:"temperature,omitempty" json:"temperature,omitempty" jsonschema:"minimum=0,maximum=2"`
	// How many tokens a reply may have. Sent when it is given.
	MaxOutputTokens int `yaml:"max_output_tokens,omitempty" json:"max_output_tokens,omitempty" jsonschema:"minimum=1,maximum=10000000"`
	// Whether the reply is streamed. Default: true.
	Stream *bool `yaml:"stream,omitempty" json:"stream,omitempty"`
	// How long one model call may take. Default: 2m.
	Timeout Duration `yaml:"timeout,omitempty" json:"timeout,omitempty"`
	// When a model call is made again.
	Retry Retry `yaml:"retry,omitempty" json:"retry,omitempty"`
	// What a million tokens cost, in any currency, for agent.max_cost and the cost in the result.
	Prices Prices `yaml:"prices,omitempty" json:"prices,omitempty"`
	// Merged into the body of each request as it is. It cannot replace model, messages, tools,
	// functions, function_call, stream or n.
	Extra map[string]any `yaml:"extra,omitempty" json:"extra,omitempty"`
	// Models that are asked in this order when the one before gives up. Each call begins with the first again.
	Fallback []Fallback `yaml:"fallback,omitempty" json:"fallback,omitempty" jsonschema:"maxItems=16"`
	// How the endpoint wants to be spoken to, where it is not known by its name and would have to refuse
	// a request first. Default: what most take, and what is known of OpenAI and Mistral.
	Compat Compat `yaml:"compat,omitempty" json:"compat,omitempty"`
}

// Fallback is another model. What it does not say is as the first model has it, but
// for the key, the compat switches and the context window, which go with an address
// and a name.
type Fallback struct {
	// The model's name at the provider. Default: the first model's.
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	// The address of the endpoint. ${NAME} is expanded. Default: the first model's.
	BaseURL string `yaml:"base_url,omitempty" json:"base_url,omitempty" expand:"true"`
	// The key of the endpoint. Write ${NAME}, which is expanded. Default: the first model's at the same host, none at another.
	APIKey Key `yaml:"api_key,omitempty" json:"api_key,omitempty" expand:"true"`
	// How many tokens the model takes. A conversation that was too long for the one before is given to a larger one only. Default: not known.
	ContextWindow int64 `yaml:"context_window,omitempty" json:"context_window,omitempty" jsonschema:"minimum=1,maximum=1000000000"`
	// Sent when it is given, here or for the first model.
	Temperature *float64 `yaml:"temperature,omitempty" json:"temperature,omitempty" jsonschema:"minimum=0,maximum=2"`
	// How many tokens a reply may have. Sent when it is given, here or for the first model.
	MaxOutputTokens int `yaml:"max_output_tokens,omitempty" json:"max_output_tokens,omitempty" jsonschema:"minimum=1,maximum=10000000"`
	// Whether the reply is streamed. Default: as the first model's.
	Stream *bool `yaml:"stream,omitempty" json:"stream,omitempty"`
	// How long one model call may take. Default: as the first model's.
	Timeout Duration `yaml:"timeout,omitempty" json:"timeout,omitempty"`
	// When a model call is made again. Default: each field as the first model's.
	Retry Retry `yaml:"retry,omitempty" json:"retry,omitempty"`
	// What a million tokens cost. Default: as the first model's.
	Prices Prices `yaml:"prices,omitempty" json:"prices,omitempty"`
	// Merged into the body of each request, instead of the first model's extra.
	Extra map[string]any `yaml:"extra,omitempty" json:"extra,omitempty"`
	// How the endpoint wants to be spoken to. Default: as the first model's at the same host.
	Compat Compat `yaml:"compat,omitempty" json:"compat,omitempty"`
}

// Compat says how an endpoint wants to be spoken to. What it refuses is learned all
// the same.
type Compat struct {
	// Which messages of the assistant carry their reasoning back: those with tool calls, none, or all. Default: tool_turns.
	Reasoning string `yaml:"reasoning,omitempty" json:"reasoning,omitempty" jsonschema:"enum=tool_turns,enum=never,enum=always"`
	// The ids of tool calls: any, or nine letters and digits (short). Default: any; short for Mistral.
	CallIDs string `yaml:"call_ids,omitempty" json:"call_ids,omitempty" jsonschema:"enum=any,enum=short"`
	// The role of the system message; user where there is no such role. Default: system.
	SystemRole string `yaml:"system_role,omitempty" json:"system_role,omitempty" jsonschema:"enum=system,enum=developer,enum=user"`
	// The member that bounds a reply. Default: max_tokens; max_completion_tokens for OpenAI itself.
	MaxTokens string `yaml:"max_tokens,omitempty" json:"max_tokens,omitempty" jsonschema:"enum=max_tokens,enum=max_completion_tokens"`
	// The order of roles: any, or alternate for one system message at the front, and user and assistant in turns. Default: any; alternate for Mistral.
	Order string `yaml:"order,omitempty" json:"order,omitempty" jsonschema:"enum=any,enum=alternate"`
	// The schemas of tools: full, or plain without the less common words of JSON Schema. Arguments are checked by the full ones. Default: full.
	Schemas string `yaml:"schemas,omitempty" json:"schemas,omitempty" jsonschema:"enum=full,enum=plain"`
	// Whether messages may hold images; else they are described in text. Default: true.
	Images *bool `yaml:"images,omitempty" json:"images,omitempty"`
	// Whether messages may hold files; else they are described in text. Files that are text are sent as text always. Default: true.
	Files *bool `yaml:"files,omitempty" json:"files,omitempty"`
	// Members of a request that are never sent, such as temperature or parallel_tool_calls.
	Omit []string `yaml:"omit,omitempty" json:"omit,omitempty" jsonschema:"maxItems=100"`
}

// Prices are what a million tokens cost, in any currency.
type Prices struct {
	// A million tokens of the request.
	Input float64 `yaml:"input,omitempty" json:"input,omitempty" jsonschema:"minimum=0,maximum=1000000"`
	// A million of those that the provider had in its cache. Default: as input.
	Cached float64 `yaml:"cached,omitempty" json:"cached,omitempty" jsonschema:"minimum=0,maximum=1000000"`
	// A million tokens of the reply.
	Output float64 `yaml:"output,omitempty" json:"output,omitempty" jsonschema:"minimum=0,maximum=1000000"`
}

// Retry says how often a model call is made again, and when.
type Retry struct {
	// How often a call is tried, the first time included. Default: 4.
	Attempts int `yaml:"attempts,omitempty" json:"attempts,omitempty" jsonschema:"minimum=1,maximum=20"`
	// The wait before the second try; it doubles with each further one. Default: 500ms.
	Initial Duration `yaml:"initial,omitempty" json:"initial,omitempty"`
	// The longest wait that is not the endpoint's own wish: one that it names is waited, up to this or a minute, whichever is longer, and else the call fails at once. Default: 30s.
	Max Duration `yaml:"max,omitempty" json:"max,omitempty"`
}

// Agent says how the loop behaves.
type Agent struct {
	// What the model is told first. Nothing in it is expanded.
	SystemPrompt string `yaml:"system_prompt,omitempty" json:"system_prompt,omitempty"`
	// How the model asks for tools: tools are its native tool calls; react is text with a
	// thought, an action and its input, json one JSON object a reply, both for models
	// without tool calls. Default: tools.
	Planner string `yaml:"planner,omitempty" json:"planner,omitempty" jsonschema:"enum=tools,enum=react,enum=json"`
	// How many model calls a run may make; 0: none. Default: 15.
	MaxSteps *int `yaml:"max_steps,omitempty" json:"max_steps,omitempty" jsonschema:"minimum=0,maximum=100000"`
	// How long a run may take. Default: as long as it takes.
	MaxDuration Duration `yaml:"max_duration,omitempty" json:"max_duration,omitempty"`
	// How many tokens the model calls of a run may use, those of agents that it calls
	// included. The call that goes over it is the last. Default: no limit.
	MaxTotalTokens int64 `yaml:"max_total_tokens,omitempty" json:"max_total_tokens,omitempty" jsonschema:"minimum=1,maximum=1000000000000"`
	// What the model calls of a run may cost by model.prices, those of agents that it
	// calls included. The call that goes over it is the last. Default: no limit.
	MaxCost float64 `yaml:"max_cost,omitempty" json:"max_cost,omitempty" jsonschema:"minimum=0,maximum=1000000000"`
	// How many tool calls a run may make, those of agents that it calls included. One
	// over it is refused, and the run ends when the model makes another. Default: no limit.
	MaxToolCalls int `yaml:"max_tool_calls,omitempty" json:"max_tool_calls,omitempty" jsonschema:"minimum=1,maximum=1000000"`
	// The same for single tools, by their names.
	MaxCallsPerTool map[string]int `yaml:"max_calls_per_tool,omitempty" json:"max_calls_per_tool,omitempty"`
	// How often in a row the model may make the same calls with the same results, cycles
	// of up to four steps included: it is warned then, and once more ends the run. Calls
	// of tools with polling do not count. 2 or more; 0: as often as it likes. Default: 0.
	MaxRepeatedCalls *int `yaml:"max_repeated_calls,omitempty" json:"max_repeated_calls,omitempty" jsonschema:"minimum=0,maximum=1000"`
	// What happens at a limit of steps, tokens, cost, tool calls or repeated calls: force
	// ends the run with a fixed message, generate with one more answer of the model,
	// without tools, from the steps so far. Default: force.
	EarlyStopping string `yaml:"early_stopping,omitempty" json:"early_stopping,omitempty" jsonschema:"enum=force,enum=generate"`
	// How many of the run's last steps the model is shown; 0: all. The result has all of
	// them. Default: 0.
	TrimSteps *int `yaml:"trim_steps,omitempty" json:"trim_steps,omitempty" jsonschema:"minimum=0,maximum=100000"`
	// What ends a run: text is a reply without tool calls, any other is the name of a tool. Default: text.
	ExitConditions []string `yaml:"exit_conditions,omitempty" json:"exit_conditions,omitempty"`
	// How many tool calls of a step run at the same time; 1: one after the other. Default: 4.
	ParallelToolCalls int `yaml:"parallel_tool_calls,omitempty" json:"parallel_tool_calls,omitempty" jsonschema:"minimum=1,maximum=256"`
	// What happens when the planner cannot read a reply: feedback tells the model what was
	// wrong, fail ends the run, {text: …} tells the model this text instead, and {module: …} what
	// a module with the role parse_error makes of the error and the reply. After
	// three in a row the model is asked for a plain answer, and the run ends. Default:
	// feedback.
	OnParseError OnParseError `yaml:"on_parse_error,omitempty" json:"on_parse_error,omitzero"`
	// Whether the result has the steps of the run; the events have them in any case.
	// Default: true.
	ReturnSteps *bool `yaml:"return_steps,omitempty" json:"return_steps,omitempty"`
	// The keys of the run's state, which tools read and write by inputs_from_state and
	// outputs_to_state. The result has those that have a value.
	State map[string]StateKey `yaml:"state,omitempty" json:"state,omitempty"`
	// What happens when a tool fails: feedback tells the model, fail ends the run. Default: feedback.
	OnToolError string `yaml:"on_tool_error,omitempty" json:"on_tool_error,omitempty" jsonschema:"enum=feedback,enum=fail"`
	// With more tools in force than this the model is shown a search for tools, and what it
	// found so far. 0: never. Default: 0.
	ToolSearchOver *int `yaml:"tool_search_over,omitempty" json:"tool_search_over,omitempty" jsonschema:"minimum=0,maximum=100000"`
	// The value that a run gives. Default: a text.
	Output *Output `yaml:"output,omitempty" json:"output,omitempty"`
}

// Output is the value that a run gives instead of a text.
type Output struct {
	// The JSON Schema of the value, which is an object. Its members are asked for in the order in which they are written here.
	Schema map[string]any `yaml:"schema" json:"schema"`
	// How the model is asked: native by the provider's own output format, tool by a tool that takes the value, prompt
	// in the system prompt. auto is native where the provider is known to have it, else tool, and prompt with the
	// planners react and json, which have no other. Default: auto.
	Strategy string `yaml:"strategy,omitempty" json:"strategy,omitempty" jsonschema:"enum=auto,enum=native,enum=tool,enum=prompt"`
	// How many outputs in a row may not fit the schema until the run ends. The model is told each time why. Default: 3.
	Attempts int `yaml:"attempts,omitempty" json:"attempts,omitempty" jsonschema:"minimum=1,maximum=20"`
}

// OnParseError says what happens when a reply cannot be read: a word, or what the model
// is told. The zero value is the default.
type OnParseError struct {
	Word string `yaml:"-" json:"word,omitempty"` // feedback or fail
	// What the model is told.
	Text string `yaml:"text,omitempty" json:"text,omitempty"`
	// A module with the role parse_error, which makes it of the error and the reply. It has
	// 1 s and no grants. ${NAME} is expanded.
	Module string `yaml:"module,omitempty" json:"module,omitempty" expand:"true"`
	// Plain values that the module may read. ${NAME} is expanded.
	Config map[string]any `yaml:"config,omitempty" json:"config,omitempty" expand:"true"`
}

// IsZero says that nothing is set, so that the default holds.
func (o *OnParseError) IsZero() bool { return o.Word == "" && o.Text == "" && o.Module == "" }

// StateKey is a key of the run's state.
type StateKey struct {
	// The JSON Schema of its value. Default: anything.
	Schema map[string]any `yaml:"schema,omitempty" json:"schema,omitempty"`
	// What a write does: replace puts the new value in place of the old, append puts it, or
	// its elements where it is a list, behind the list that there is. Default: append where
	// the type in the schema is array, else replace.
	Merge string `yaml:"merge,omitempty" json:"merge,omitempty" jsonschema:"enum=replace,enum=append"`
}

// StateOutput says what of a tool's result goes to the run's state.
type StateOutput struct {
	// A field of the structured result. Default: the whole result.
	From string `yaml:"from,omitempty" json:"from,omitempty"`
	// What the write does, instead of what the key says.
	Merge string `yaml:"merge,omitempty" json:"merge,omitempty" jsonschema:"enum=replace,enum=append"`
}

// Tool is a module and what it may do, or another agent.
type Tool struct {
	// The WebAssembly file. ${NAME} is expanded.
	Module string `yaml:"module,omitempty" json:"module,omitempty" expand:"true" jsonschema:"minLength=1,oneof_required=module"`
	// The manifest of an agent that is the tool, in the place of a module. ${NAME} is
	// expanded. Beside it an entry has sha256, name, description, limits.timeout, allow,
	// outputs_to_state, polling and return_direct.
	Agent string `yaml:"agent,omitempty" json:"agent,omitempty" expand:"true" jsonschema:"minLength=1,oneof_required=agent"`
	// The digest of the file in hexadecimal, checked before anything of it is compiled.
	SHA256 string `yaml:"sha256,omitempty" json:"sha256,omitempty" jsonschema:"pattern=^(sha256:)?[0-9a-fA-F]{64}$"`
	// How the module is called. Default: auto, by what it exports.
	ABI string `yaml:"abi,omitempty" json:"abi,omitempty" jsonschema:"enum=auto,enum=wagent,enum=extism,enum=wasi"`
	// The function of a plain Extism module.
	Export string `yaml:"export,omitempty" json:"export,omitempty"`
	// What a plain Extism function is given: the arguments as JSON, or the text of the one argument. Default: json.
	Input string `yaml:"input,omitempty" json:"input,omitempty" jsonschema:"enum=json,enum=text"`
	// The name of the one tool of a module that declares none itself, or of an agent.
	// Default for an agent: its own name.
	Name string `yaml:"name,omitempty" json:"name,omitempty" jsonschema:"pattern=^[A-Za-z_][A-Za-z0-9_-]{0\\,63}$"`
	// Which of the module's tools the model may see. Default: all.
	Tools []string `yaml:"tools,omitempty" json:"tools,omitempty"`
	// Other names for the module's tools.
	Rename map[string]string `yaml:"rename,omitempty" json:"rename,omitempty"`
	// What the model reads instead of the module's or the agent's own description.
	Description string `yaml:"description,omitempty" json:"description,omitempty"`
	// The JSON Schema of the arguments, instead of the module's own.
	Parameters map[string]any `yaml:"parameters,omitempty" json:"parameters,omitempty"`
	// Plain values that the guest may read. ${NAME} is expanded.
	Config map[string]any `yaml:"config,omitempty" json:"config,omitempty" expand:"true"`
	// Bounds of one call.
	Limits Limits `yaml:"limits,omitempty" json:"limits,omitempty"`
	// What the module may reach. Default: nothing. Of an agent: what its modules may reach
	// at most, of what its own manifest grants them. Default for an agent: what that grants.
	Allow Allow `yaml:"allow,omitempty" json:"allow,omitempty"`
	// Values that the host adds to requests to one host each, and that the guest never holds.
	Secrets []Secret `yaml:"secrets,omitempty" json:"secrets,omitempty" jsonschema:"maxItems=100"`
	// Arguments that come from the run's state, as state key: argument. The model neither
	// sees nor gives them. Without an argument the tool asks for the key itself (state_get).
	InputsFromState map[string]string `yaml:"inputs_from_state,omitempty" json:"inputs_from_state,omitempty"`
	// What goes to the run's state of a result that is no error, by state key.
	OutputsToState map[string]StateOutput `yaml:"outputs_to_state,omitempty" json:"outputs_to_state,omitempty"`
	// Whether the tool's result is the run's output. Default: false.
	ReturnDirect bool `yaml:"return_direct,omitempty" json:"return_direct,omitempty"`
	// Whether the tool is one that is called again and again until its result is another,
	// so that max_repeated_calls does not count its calls. Default: false.
	Polling bool `yaml:"polling,omitempty" json:"polling,omitempty"`
	// How long a guest lives: pristine is a fresh one for every call, session one for
	// all calls of a run, which take turns. Default: pristine.
	Instances string `yaml:"instances,omitempty" json:"instances,omitempty" jsonschema:"enum=pristine,enum=session"`
	// Where the guests run: inprocess is the process of the host, process one of their
	// own that can reach nothing but the host, and auto decides: modules that were named
	// as files run in the host. Default: inprocess.
	Isolation string `yaml:"isolation,omitempty" json:"isolation,omitempty" jsonschema:"enum=inprocess,enum=process,enum=auto"`

	origin *origin
	field  string // its place, tools[0]
}

// Limits bound one call of the module, but for kv, which bounds a run.
type Limits struct {
	// Linear memory, all memories of the instance together. Default: 64MiB.
	Memory Size `yaml:"memory,omitempty" json:"memory,omitempty"`
	// Wall clock, initialisation included. Default: 5s; for an agent none but its own.
	Timeout Duration `yaml:"timeout,omitempty" json:"timeout,omitempty"`
	// Work of one call, in units that are the same on every machine, such as 5G. Default: no limit but the time.
	Fuel Fuel `yaml:"fuel,omitempty" json:"fuel,omitempty"`
	// Bytes of the result. Default: 1MiB.
	Output Size `yaml:"output,omitempty" json:"output,omitempty"`
	// Standard output, standard error and log lines together; more is cut, and said so. Default: 64KiB.
	Logs Size `yaml:"logs,omitempty" json:"logs,omitempty"`
	// Bytes of one HTTP response. Default: 4MiB.
	HTTPResponse Size `yaml:"http_response,omitempty" json:"http_response,omitempty"`
	// HTTP requests, redirects included. Default: 20.
	HTTPRequests int `yaml:"http_requests,omitempty" json:"http_requests,omitempty" jsonschema:"minimum=1,maximum=10000"`
	// What the tool has stored in a run under a kv grant, keys and values together. Default: 1MiB.
	KV Size `yaml:"kv,omitempty" json:"kv,omitempty"`
	// What is written under a write grant, and what is open at once.
	Files FileLimits `yaml:"files,omitempty" json:"files,omitempty"`
}

// FileLimits bound what a call does with its folders.
type FileLimits struct {
	// Bytes that are written. Default: 64MiB.
	Bytes Size `yaml:"bytes,omitempty" json:"bytes,omitempty"`
	// Files and folders that are made. Default: 1000.
	Count int `yaml:"count,omitempty" json:"count,omitempty" jsonschema:"minimum=1,maximum=10000000"`
	// Files that are open at once. Default: 64.
	Open int `yaml:"open,omitempty" json:"open,omitempty" jsonschema:"minimum=1,maximum=10000"`
}

// Allow opens doors. What is not in it is denied.
type Allow struct {
	// The hosts that may be reached.
	HTTP []HTTPRule `yaml:"http,omitempty" json:"http,omitempty"`
	// Folders that may be read, as host folder: guest folder. ${NAME} is expanded in the host folder.
	Read map[string]string `yaml:"read,omitempty" json:"read,omitempty" expand:"keys"`
	// Folders that may be read and written, as host folder: guest folder. ${NAME} is expanded in the host folder.
	Write map[string]string `yaml:"write,omitempty" json:"write,omitempty" expand:"keys"`
	// Environment variables that the guest sees, as they are written: nothing is expanded in them.
	Env map[string]string `yaml:"env,omitempty" json:"env,omitempty"`
	// Whether loopback, link-local and private addresses may be reached where http names them. Default: false.
	PrivateNetworks bool `yaml:"private_networks,omitempty" json:"private_networks,omitempty"`
	// Whether the tool has a store for values under keys, its own and empty in each run, whose calls share it. Default: false.
	KV bool `yaml:"kv,omitempty" json:"kv,omitempty"`
	// The time that the guest sees: real, coarse (real, in steps of a millisecond), or fixed: and a time. Default: real.
	Clock string `yaml:"clock,omitempty" json:"clock,omitempty" jsonschema:"pattern=^(real|coarse|fixed:.+)$"`
	// Where random bytes come from: real, or seed: and a number. Default: real.
	Random string `yaml:"random,omitempty" json:"random,omitempty" jsonschema:"pattern=^(real|seed:[0-9]+)$"`
}

// HTTPRule allows requests to one host: "[http://]name[:port]".
type HTTPRule struct {
	// The host as [http://]name[:port]; https and port 443 where nothing is said. One leading *. stands for one label.
	Host string `yaml:"host" json:"host" jsonschema:"minLength=1"`
	// Methods that may be used. Default: GET and HEAD.
	Methods []string `yaml:"methods,omitempty" json:"methods,omitempty"`
	// Paths that may be asked for; * stops at a slash, ** does not. Default: all.
	Paths []string `yaml:"paths,omitempty" json:"paths,omitempty"`
}

// Secret is a value that the host adds to the requests of the module to one host.
// The value itself is in no manifest: it is read when the module is loaded.
type Secret struct {
	// The environment variable that holds the value, of 8 characters or more. The guest may ask whether there is one of that name.
	Env string `yaml:"env" json:"env" jsonschema:"pattern=^[A-Za-z_][A-Za-z0-9_]*$"`
	// The one host that is sent the value, as [http://]name[:port], which allow.http covers. It is never sent on a redirect. ${NAME} is expanded.
	Host string `yaml:"host" json:"host" expand:"true" jsonschema:"minLength=1"`
	// The header that the value is put into. The guest cannot set it for this host.
	Header string `yaml:"header" json:"header" jsonschema:"pattern=^[A-Za-z0-9-]+$"`
	// What the header holds; {} is the value. Default: {}.
	Format string `yaml:"format,omitempty" json:"format,omitempty"`
}

// Key is a key that is in a manifest as ${NAME}. However it is printed or written,
// it shows only that there is one; the key itself is string(k).
type Key string

// Fuel is a number of units of work, written "5G" or "200M". Zero: no limit.
type Fuel int64

// Size is a number of bytes, written "64MiB" or "8KB". Zero: the default.
type Size int64

// Duration is written as a Go duration, "2m" or "500ms". Zero: the default.
type Duration time.Duration

// Ceiling returns what the entry of an agent lets the modules of it reach at most, or
// nil where it says nothing of that and the agent's own manifest decides. An entry made
// in Go says nothing where its Allow is the zero Allow. The error is that of
// [Tool.Policy].
func (t *Tool) Ceiling() (*policy.Grants, error) {
	_, written := t.origin.key(within(t.field, "allow"))
	if !written && reflect.ValueOf(t.Allow).IsZero() {
		return nil, nil
	}
	p, err := t.Policy()
	if err != nil {
		return nil, err
	}
	return &p.Grants, nil
}

// ParametersJSON returns the schema of the tool's arguments, or nil.
func (t *Tool) ParametersJSON() json.RawMessage { return asJSON(t.Parameters) }
