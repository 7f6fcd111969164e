package host

import (
	"log/slog"
	"time"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/host/run"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// Options change how a [Host] is made. Nil and the zero value are usable.
type Options struct {
	// Model answers instead of the manifest's model, and instead of those of the agents
	// that are its tools. Nil: each manifest's own.
	Model model.Model
	// Store keeps the runs, those of agents that are tools included. Nil: they are kept in memory and end with the Host.
	Store run.Store
	// Ceiling narrows what every module may use, those of agents that are tools included.
	// Nil: the manifest decides.
	Ceiling *policy.Policy
	// Getenv looks up the variables of ${…} in the manifest, and its secrets. Nil:
	// os.LookupEnv.
	Getenv func(string) (string, bool)
	// CacheDir keeps compiled code between processes. It is made with mode 0700
	// if it is not there; one that others can write is not used, with a warning.
	// Empty: compiled code is kept in memory only.
	CacheDir string
	// ToolMemory is how much memory the calls that run at once may be limited to
	// together, in bytes. A call that does not fit beside the others waits for its
	// turn, and modules take turns; one whose own limit is larger runs alone. 0:
	// half of what the process may use of the machine's, and 1 GiB at least.
	ToolMemory int64
	// Loading is told which module is being loaded, and that it is the n-th of so
	// many: on a first start each is compiled, which takes seconds. Several are
	// loaded at once; of those it is the first that was begun. The calls come one
	// at a time and must not block. Nil: nobody is told.
	Loading func(module string, n, of int)
	// Late loads modules that import what they were not granted, and refuses them
	// the call of that. False: such a module is not loaded.
	Late bool
	// WeakIsolation lets modules with isolation: process run in a process that is not
	// shut off from the system where the system has no way to (Linux has Landlock and
	// seccomp), with a warning. False: they are not loaded there.
	WeakIsolation bool
	// Logger is told what an operator should know. Nil: nothing is logged.
	Logger *slog.Logger
	// Now is the clock of events and limits. Nil: time.Now.
	Now func() time.Time
}

// Input is one run.
type Input struct {
	ID       run.ID          // empty: a new one is made
	Messages []model.Message // what the caller says; the system prompt goes before it
	Tools    []string        // names of the tools in force; nil: all; empty: none
	State    map[string]any  // what keys of the state that the manifest declares have at first
	Budget   Budget
}

// Budget replaces limits of the manifest for one run, also when it is resumed.
type Budget = run.Budget

// Text returns the input that is one user message.
func Text(prompt string) Input {
	return Input{Messages: []model.Message{model.Text(model.User, prompt)}}
}

// ToolInfo is a tool as the model sees it, and what stands behind it.
type ToolInfo struct {
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Parameters  []byte           `json:"-"`                     // JSON Schema
	Agent       *AgentInfo       `json:"agent,omitempty"`       // nil: the tool is one of a module
	Source      string           `json:"module,omitempty"`      // where the module was read from
	Digest      string           `json:"digest"`                // "sha256:" and the digest of the code, or of the agent's manifest
	ModuleTool  string           `json:"module_tool,omitempty"` // the module's own name for the tool
	ABI         string           `json:"abi,omitempty"`         // wagent, extism or wasi
	Instances   string           `json:"instances,omitempty"`   // session: it keeps its state for a run; empty: it keeps none
	Isolation   string           `json:"isolation,omitempty"`   // process: its guests have one of their own; empty: they run in the host
	Annotations *abi.Annotations `json:"annotations,omitempty"`
	Requests    *abi.Requests    `json:"requests,omitempty"` // what the module asks for; it grants nothing
	Policy      policy.Policy    `json:"-"`                  // what it is granted, after narrowing
}

// AgentInfo is an agent that is a tool of another.
type AgentInfo struct {
	Manifest string        `json:"manifest"` // where its manifest was read from
	Timeout  time.Duration `json:"-"`        // of a call; 0: none but the agent's own
	Tools    []ToolInfo    `json:"-"`        // its own, after narrowing
}

// Outcome is what came of one call of a tool.
type Outcome struct {
	Result abi.Result
	// Kind is "" when the tool answered without an error.
	Kind    run.ErrorKind
	Detail  string      // for people: the last lines of a guest that failed
	Receipt run.Receipt // the zero Receipt for an agent
	// NestedRun is the run of an agent that was called, in the store; "" for a module.
	NestedRun run.ID
}

// ModuleInfo is what a module is and what it declares.
type ModuleInfo struct {
	Digest    string         `json:"digest"`
	Bytes     int64          `json:"bytes"`
	ABI       string         `json:"abi"`
	Why       string         `json:"why"` // how the ABI was decided
	Imports   []ModuleImport `json:"imports"`
	Exports   []ModuleExport `json:"exports"`
	MemoryMin int64          `json:"memory_min_bytes"`
	MemoryMax int64          `json:"memory_max_bytes,omitempty"` // 0: the module sets none
	// MemoryLimit is what it may have under the default of limits.memory, in bytes.
	MemoryLimit int64         `json:"memory_limit_bytes"`
	Tables      []ModuleTable `json:"tables"`
	// Capabilities are the doors that the module asks for or has imports for.
	Capabilities []Capability `json:"capabilities"`
	// Producers are what the module says it was made with, one visible line each.
	Producers []string        `json:"producers,omitempty"`
	Rewritten ModuleRewriting `json:"rewritten"`
	// Roles are what the module can be called for beside tools. One that has roles and
	// describes no tools is not asked for any.
	Roles       []ModuleRole `json:"roles,omitempty"`
	Tools       []abi.Tool   `json:"tools"`
	DescribeErr string       `json:"describe_error,omitempty"`
	// DescribeLogs is what the module said while it described itself, such as why
	// it left a tool out.
	DescribeLogs []ModuleLog `json:"describe_logs,omitempty"`
}

// ModuleRole is what a module for hooks can be called for.
type ModuleRole struct {
	Role   string `json:"role"`
	Export string `json:"export"` // the function that is called
	Field  string `json:"field"`  // of a manifest, where the module is named for it
}

// ModuleLog is a line that a module logged or printed, made visible.
type ModuleLog struct {
	Level   string `json:"level"` // debug, info, warn or error; printed lines are info
	Message string `json:"message"`
}

// ModuleImport is something the module wants of the host.
type ModuleImport struct {
	Module    string `json:"module"`
	Name      string `json:"name"`
	Signature string `json:"signature"`
	Door      string `json:"door"` // that serves it: wagent, wasi or extism
}

// ModuleTable is a table of the module. Sizes are numbers of entries.
type ModuleTable struct {
	Elem     string `json:"elem"`
	Min      uint32 `json:"min"`
	Max      uint32 `json:"max,omitempty"` // 0: the module sets none
	Most     uint32 `json:"most"`          // what the loader lets it have
	Imported bool   `json:"imported,omitempty"`
}

// ModuleRewriting is what the loader changed of the module. Sizes are in bytes.
type ModuleRewriting struct {
	Functions      int             `json:"functions"`       // that the module defines; each is written anew
	Helpers        int             `json:"helpers"`         // functions that were added
	CodeBytes      int             `json:"code_bytes"`      // of the functions, as they were
	NewCodeBytes   int             `json:"new_code_bytes"`  // of the functions, as the engine gets them
	NewBytes       int64           `json:"new_bytes"`       // of the module that the engine gets
	Looks          int             `json:"looks"`           // places where a guest looks whether it has to stop
	BulkOperations int             `json:"bulk_operations"` // fills and copies that are charged and cut into pieces
	StartDeferred  bool            `json:"start_deferred"`  // the start function runs when the time limit is armed
	DataSegments   int             `json:"data_segments"`   // that the host writes into memory
	DataBytes      int64           `json:"data_bytes"`
	Dropped        []ModuleSection `json:"dropped"`                // custom sections that the engine does not get
	MoreDropped    int             `json:"more_dropped,omitempty"` // that are not in Dropped
	Reused         bool            `json:"reused"`                 // a guest can be put back exactly and used for another call
}

// ModuleSection is a custom section, its name on one visible line.
type ModuleSection struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// ModuleExport is something the module offers.
type ModuleExport struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Signature string `json:"signature,omitempty"`
}
