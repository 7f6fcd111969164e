// Package abi is the contract between the wagent host and a guest module: the
// names of what they import and export, and the JSON that passes between them.
// It needs the standard library only, and both sides are built from it, so they
// cannot disagree.
//
// A guest exports wagent_abi, wagent_alloc, wagent_describe and wagent_call. The
// host writes a [Request] into a buffer it was given by wagent_alloc, calls
// wagent_call, and reads the [Response] from where the result points: the upper
// 32 bits are the address, the lower 32 the length.
package abi

import "encoding/json"

// Version is what wagent_abi returns. A host refuses every other number.
const Version = 1

// Names that a module of the wagent ABI exports.
const (
	ExportMemory     = "memory"
	ExportVersion    = "wagent_abi"
	ExportAlloc      = "wagent_alloc"
	ExportDescribe   = "wagent_describe"
	ExportCall       = "wagent_call"
	ExportHook       = "wagent_hook"
	ExportInitialize = "_initialize"
	ExportStart      = "_start" // WASI commands
)

// Module is the import module of the host functions, and these are their names.
const (
	Module             = "wagent"
	ImportLog          = "log"           // (level, ptr, len i32)
	ImportHTTP         = "http"          // (ptr, len i32) -> i64: handle<<32 | length, or an [Errno]
	ImportRead         = "read"          // (handle, ptr, len i32) -> i32: bytes copied, or an [Errno]
	ImportKVGet        = "kv_get"        // (ptr, len i32) -> i64: as http, the value; [ErrNotFound]
	ImportKVSet        = "kv_set"        // (ptr, len, vptr, vlen i32) -> i32: 0, or an [Errno]
	ImportKVDelete     = "kv_delete"     // (ptr, len i32) -> i32: 0, also if there was nothing
	ImportKVList       = "kv_list"       // (ptr, len i32) -> i64: as http, a JSON array; see [KVAfter]
	ImportStateGet     = "state_get"     // (ptr, len i32) -> i64
	ImportProgress     = "progress"      // (permille, ptr, len i32)
	ImportSecretExists = "secret_exists" // (ptr, len i32) -> i32: 1, 0, or an [Errno]
)

// MaxDescription is the most bytes that a description may have.
const MaxDescription = 64 << 10

// Limits of the store. A key is UTF-8, may be empty and hold any character, NUL
// included; none has a meaning. All keys and values together have a limit in the
// manifest. What is over the number of keys is [ErrTooMany], and all else
// [ErrTooLarge]; it changes nothing.
const (
	MaxKVKey   = 1 << 10 // bytes of a key
	MaxKVValue = 1 << 20 // bytes of a value
	MaxKVKeys  = 10_000
	MaxKVPage  = 1_000 // keys in one answer of kv_list
)

// KVAfter asks kv_list for the next page. It is given a prefix, and answers with
// the keys that have it, sorted by their bytes: at most [MaxKVPage] of them, and
// fewer where they are long. Given a prefix, this byte, which is in no key, and the
// last key of a page, it answers with the keys behind that. An empty array is the
// end.
const KVAfter = 0xff

// Level is the importance of a log line, as in log/slog divided by four.
type Level int32

// The levels of wagent.log. Others are taken as the nearest.
const (
	LevelDebug Level = -1
	LevelInfo  Level = 0
	LevelWarn  Level = 1
	LevelError Level = 2
)

// Errno is why a host function refused. Host functions return it as a negative
// number and never trap.
type Errno int32

// The error numbers. They never change their meaning.
const (
	ErrDenied      Errno = -1 // no grant covers it
	ErrInvalid     Errno = -2 // the request is not well formed, or a pointer is out of bounds
	ErrTooLarge    Errno = -3 // over a size limit
	ErrTooMany     Errno = -4 // over a count limit
	ErrTimeout     Errno = -5 // the deadline of the call, or of the operation
	ErrUnavailable Errno = -6 // the other side did not answer, or the name does not resolve
	ErrNotFound    Errno = -7 // no such key or handle
	ErrUnsupported Errno = -8 // this host does not have it
	ErrInternal    Errno = -9 // a fault of the host
)

// Error says what the number means.
func (e Errno) Error() string {
	switch e {
	case ErrDenied:
		return "denied: no grant covers it"
	case ErrInvalid:
		return "invalid request"
	case ErrTooLarge:
		return "too large"
	case ErrTooMany:
		return "too many"
	case ErrTimeout:
		return "timed out"
	case ErrUnavailable:
		return "unavailable"
	case ErrNotFound:
		return "not found"
	case ErrUnsupported:
		return "not supported by this host"
	default:
		return "host error"
	}
}

// Description is what wagent_describe returns: the tools of a module, in the
// fields of MCP's tools/list.
type Description struct {
	Tools []Tool `json:"tools"`
}

// Tool describes one tool.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  *Annotations    `json:"annotations,omitempty"`
	Meta         *Meta           `json:"_meta,omitempty"`
}

// Annotations are hints about what a tool does. They come from the module, so
// a host lets them make it stricter and never laxer.
type Annotations struct {
	ReadOnlyHint    *bool `json:"readOnlyHint,omitempty"`
	DestructiveHint *bool `json:"destructiveHint,omitempty"`
	IdempotentHint  *bool `json:"idempotentHint,omitempty"`
	OpenWorldHint   *bool `json:"openWorldHint,omitempty"`
}

// Meta carries what a tool asks for.
type Meta struct {
	Requests *Requests `json:"requests,omitempty"`
}

// Requests is what a module would like to be granted. It is shown to people and
// grants nothing.
type Requests struct {
	HTTP   []string `json:"http,omitempty"`
	Read   []string `json:"read,omitempty"`
	Write  []string `json:"write,omitempty"`
	Env    []string `json:"env,omitempty"`
	KV     bool     `json:"kv,omitempty"`
	Reason string   `json:"reason,omitempty"`
}

// Request is one call of a tool.
type Request struct {
	V          int             `json:"v"`
	ID         string          `json:"id"`
	Tool       string          `json:"tool"`
	Arguments  json.RawMessage `json:"arguments"`
	Config     json.RawMessage `json:"config,omitempty"`
	DeadlineMS int64           `json:"deadline_ms"` // milliseconds from the start of the call
	Run        RunRef          `json:"run"`
}

// RunRef says which run a call belongs to.
type RunRef struct {
	ID   string `json:"id"`
	Step int    `json:"step"`
}

// Response is what a call returns: a [Result], or an error.
type Response struct {
	V int `json:"v,omitempty"`
	Result
	Error *Error `json:"error,omitempty"`
}

// Result is the answer of a tool.
type Result struct {
	Content           []Content       `json:"content,omitzero"` // nil beside an error, else at least empty
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
	IsError           bool            `json:"isError,omitempty"`
}

// Content is one piece of a result.
type Content struct {
	Type     string    `json:"type"` // text, image or resource
	Text     string    `json:"text,omitempty"`
	Data     []byte    `json:"data,omitempty"` // base64 in JSON
	MIMEType string    `json:"mimeType,omitempty"`
	Resource *Resource `json:"resource,omitempty"`
}

// Resource is an embedded piece of data with an address.
type Resource struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType,omitempty"`
	Text     string `json:"text,omitempty"`
	Blob     []byte `json:"blob,omitempty"`
}

// Error is a failure that the tool itself reports. The model sees it.
type Error struct {
	Kind         ErrorKind `json:"kind"`
	Message      string    `json:"message"`
	RetryAfterMS int64     `json:"retry_after_ms,omitempty"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// ErrorKind says what a caller may do about an [Error].
type ErrorKind string

// The kinds of tool errors. An unknown one is taken as internal.
const (
	Input        ErrorKind = "input"         // the arguments are wrong: call again, corrected
	AuthRequired ErrorKind = "auth_required" // a person has to grant something
	NotFound     ErrorKind = "not_found"
	RateLimited  ErrorKind = "rate_limited" // later, see RetryAfterMS
	Unavailable  ErrorKind = "unavailable"  // later
	Internal     ErrorKind = "internal"
)

// HTTPRequest is what a guest hands to wagent.http.
type HTTPRequest struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    []byte            `json:"body,omitempty"` // base64 in JSON
}

// HTTPResponse is what it reads back.
type HTTPResponse struct {
	Status  int               `json:"status"`
	URL     string            `json:"url"` // where the last redirect led
	Headers map[string]string `json:"headers,omitempty"`
	Body    []byte            `json:"body,omitempty"`
	// Error says why there is no response, in words that name what to grant.
	Error *HTTPError `json:"error,omitempty"`
}

// HTTPError is a request that got no response.
type HTTPError struct {
	Code    string `json:"code"` // denied, invalid, too_large, too_many, timeout, unavailable
	Message string `json:"message"`
}
