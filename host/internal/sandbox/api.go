package sandbox

import (
	"encoding/json"
	"time"

	"github.com/wagent-dev/wagent/host/internal/redact"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// ABI is how host and guest talk.
type ABI string

// The ABIs. Auto decides by the module's imports and exports.
const (
	Auto   ABI = "auto"
	Wagent ABI = "wagent"
	Extism ABI = "extism"
	WASI   ABI = "wasi"
)

// Source is a module and the terms on which it runs.
type Source struct {
	Name   string // what messages call it, and a WASI program's argv[0]: a base file name
	Wasm   []byte
	ABI    ABI       // "": Auto
	Export string    // plain Extism: the function to call
	Text   bool      // plain Extism: the input is the one string argument, not the arguments' JSON
	Tool   *abi.Tool // the module's one tool, when the manifest declares it: describe is not run
	// Role is what a module for hooks is called for, such as parse_error; the arguments of
	// a call are then what the role is told. A plain Extism module has a function of that
	// name for Export. Empty: the module has tools.
	Role   string
	Config json.RawMessage
	Policy policy.Policy
	// Secrets are the values of the policy's secrets, by their names. No guest holds
	// one; a secret without a value is added to no request.
	Secrets map[string]string
	// Redact is what is taken out of everything that a call leaves behind, and out
	// of HTTP responses before the guest has them. Nil: nothing.
	Redact *redact.Set
	// Meter counts the work of each call for its receipt. A limit of fuel does, too.
	Meter bool
	// Late loads a module that imports what it was not granted, and refuses it the
	// call of that.
	Late bool
	// Session lets a guest live for a run: calls with the same Call.Session have
	// the same one. Otherwise each has a fresh guest.
	Session bool
	// Isolated runs the guests in a process of their own, which can reach nothing but
	// this one: see [Worker].
	Isolated bool
	// Inspect links every import of the host, as refusals where there is no
	// grant, so that a module can be looked at without being granted anything.
	Inspect bool
	// Log is told what the guest says in describe, as that of a Call is told of
	// the call. It may be nil.
	Log func(level abi.Level, message string)
}

// Call is one call of a tool.
type Call struct {
	ID        string
	Tool      string // the module's own name for it
	Arguments json.RawMessage
	Run       abi.RunRef
	// Session is what the calls of the run share, of the module's engine. Nil: the
	// call has a fresh guest, whatever its source says.
	Session *Session
	// State holds values of the run's state by their keys. The guest may ask for
	// those that its policy grants. They must not be changed during the call.
	State map[string]json.RawMessage

	// Progress and Log are told what the guest says, bounded and one line each.
	// They are called from the call's goroutine, may be nil and must not block.
	Progress func(permille int, message string)
	Log      func(level abi.Level, message string)
	// Trace records what the guest calls of the host. Nil: nothing is recorded.
	Trace *Trace

	seat   *seat
	shared *shared
	parent *parentCall // whose process opens the doors
}

// Outcome is what came of a call. It is complete whatever happened.
type Outcome struct {
	Result abi.Result // for the model; for a fault, one line that it can act on
	// Fault is "" when the tool answered, be it with an error of its own.
	Fault   Fault
	Detail  string // for people: trap, function names, the last lines of the guest's output
	Receipt Receipt
}

// Fault is why a call gave no answer. The set is closed and its values are
// those of run.ErrorKind.
type Fault string

// The faults.
const (
	FaultTrap          Fault = "trap"
	FaultTimeout       Fault = "timeout"
	FaultFuel          Fault = "fuel"
	FaultMemory        Fault = "memory"
	FaultStack         Fault = "stack"
	FaultOutput        Fault = "output"
	FaultHostCalls     Fault = "host_calls"
	FaultDenied        Fault = "denied"
	FaultInvalidArgs   Fault = "invalid_args"
	FaultInvalidResult Fault = "invalid_result"
	FaultExited        Fault = "exited"
	FaultCancelled     Fault = "cancelled"
	FaultInternal      Fault = "internal"
)

// Receipt is what a call cost and touched.
type Receipt struct {
	Module      string // "sha256:" and the digest of the code
	Wall        time.Duration
	Fuel        int64 // work in units; 0 where it is not counted
	PeakMemory  int64 // bytes of linear memory
	InputBytes  int64
	OutputBytes int64
	LogBytes    int64
	LogsCut     bool
	Hosts       []string // scheme://host:port that were connected to, sorted
}

// Info is what a module is.
type Info struct {
	Digest  string
	ABI     ABI
	Why     string // how ABI was decided
	Bytes   int64
	Imports []Import
	Exports []Export
	Memory  MemoryInfo
	Tables  []TableInfo
	// Producers are the tools that the module says it was made with.
	Producers []string
	Rewritten Rewritten
}

// Import is something the module wants of the host.
type Import struct {
	Module, Name, Signature string
	Door                    string // that serves it: wagent, wasi or extism
}

// Export is something the module offers.
type Export struct {
	Name, Kind, Signature string
}

// MemoryInfo is the size of the module's memory, in bytes. Max is 0 if the
// module sets none.
type MemoryInfo struct {
	Min, Max int64
}
