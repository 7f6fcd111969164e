package openai

import (
	"encoding/json"
	"io"
	"slices"

	api "github.com/sashabaranov/go-openai"

	"github.com/wagent-dev/wagent/host/model"
)

// request is go-openai's with the members that it would encode otherwise:
// messages and tools are bytes that exist already, and a temperature of zero
// is sent. Its max_tokens counts as deprecated; all endpoints but OpenAI's own
// know no other.
type request struct {
	api.ChatCompletionRequest
	Messages    json.RawMessage `json:"messages,omitempty"`
	Tools       json.RawMessage `json:"tools,omitempty"`
	Temperature *float64        `json:"temperature,omitempty"`
	MaxTokens   int             `json:"max_tokens,omitempty"`
	// The schema in it is bytes, too.
	ResponseFormat *responseFormat `json:"response_format,omitempty"`
}

// responseFormat asks for the output of a schema.
type responseFormat struct {
	Type   string             `json:"type"`
	Schema model.OutputSchema `json:"json_schema"`
}

// members encodes everything but the messages.
func (c *Client) members(p *profile, tools *toolset, req *model.Request) ([]byte, error) {
	plain := req.Output == nil && req.ToolChoice == "" && len(req.Stop) == 0
	if !plain {
		return c.encodeMembers(p, tools, req)
	}
	c.mu.Lock()
	last := c.beside
	c.mu.Unlock()
	if last != nil && last.profile == p && last.tools == tools {
		return last.members, nil
	}
	b, err := c.encodeMembers(p, tools, req)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.beside = &beside{p, tools, b}
	c.mu.Unlock()
	return b, nil
}

// beside is what stands beside the messages of a request that asks for nothing but an
// answer. All else that it says is the client's.
type beside struct {
	profile *profile
	tools   *toolset
	members []byte // never written again
}

func (c *Client) encodeMembers(p *profile, tools *toolset, req *model.Request) ([]byte, error) {
	wire, err := tools.encoded(p.plainSchemas)
	if err != nil {
		return nil, err
	}
	r := request{Tools: wire, Temperature: c.opts.Temperature}
	r.Model = c.opts.Name
	r.Stream = c.opts.Stream
	r.Stop = c.stops(req.Stop)
	if req.ToolChoice != "" && tools.ours[req.ToolChoice] {
		r.ToolChoice = api.ToolChoice{Type: api.ToolTypeFunction, Function: api.ToolFunction{Name: wireName(req.ToolChoice)}}
	}
	if req.Output != nil {
		r.ResponseFormat = &responseFormat{"json_schema", *req.Output}
	}
	if r.Stream {
		r.StreamOptions = &api.StreamOptions{IncludeUsage: true}
	}
	if p.completionTokens {
		r.MaxCompletionTokens = c.opts.MaxOutputTokens
	} else {
		r.MaxTokens = c.opts.MaxOutputTokens
	}
	b, err := marshal(&r)
	if err != nil || (len(c.extra) == 0 && len(p.dropped) == 0 && len(c.opts.Compat.Omit) == 0) {
		return b, err
	}
	return c.merge(b, p)
}

// stops are the texts to stop at: those that are asked for, and those of Extra. The
// first ones come first, since endpoints take few.
func (c *Client) stops(asked []string) []string {
	if len(asked) == 0 || len(c.extra["stop"]) == 0 {
		return asked
	}
	var more []string
	if one := readString(c.extra["stop"]); one != "" {
		more = []string{one}
	} else if json.Unmarshal(c.extra["stop"], &more) != nil {
		return asked
	}
	out := slices.Clone(asked)
	for _, s := range more {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// merge puts Extra into the members of a request, and takes out what is not sent.
func (c *Client) merge(b []byte, p *profile) ([]byte, error) {
	members := make(map[string]json.RawMessage)
	if err := json.Unmarshal(b, &members); err != nil {
		return nil, err
	}
	for key, value := range c.extra {
		if _, asked := members["stop"]; key == "stop" && asked {
			continue // they are together already
		}
		members[key] = value
	}
	if _, ok := members["tools"]; !ok {
		delete(members, "tool_choice") // refused without tools
		delete(members, "parallel_tool_calls")
	}
	for key := range p.dropped {
		delete(members, key)
	}
	for _, key := range c.opts.Compat.Omit {
		delete(members, key)
	}
	return marshal(members)
}

// newBody puts a request together from encoded messages, one more of them that may
// be nil, and the members beside them. Nothing is copied: a long history is sent from
// the bytes that were kept.
func newBody(messages, more, members []byte) [][]byte {
	segments := [][]byte{[]byte(`{"messages":[`), messages}
	if more != nil && len(messages) > 0 {
		more = append([]byte{','}, more...)
	}
	return append(segments, more, []byte("],"), members[1:])
}

// segmentReader reads segments one after the other.
type segmentReader struct {
	segments [][]byte
	off      int
}

func (s *segmentReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && len(s.segments) > 0 {
		k := copy(p[n:], s.segments[0][s.off:])
		n += k
		s.off += k
		if s.off == len(s.segments[0]) {
			s.segments, s.off = s.segments[1:], 0
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// WriteTo spares the copy through a buffer.
func (s *segmentReader) WriteTo(w io.Writer) (int64, error) {
	var sum int64
	for len(s.segments) > 0 {
		n, err := w.Write(s.segments[0][s.off:])
		sum += int64(n)
		if err != nil {
			s.off += n
			return sum, err
		}
		s.segments, s.off = s.segments[1:], 0
	}
	return sum, nil
}

func totalLen(segments [][]byte) int64 {
	var n int64
	for _, s := range segments {
		n += int64(len(s))
	}
	return n
}

// correction is what is said to a model whose call could not be read.
func correction() ([]byte, error) {
	return marshal(plainMessage{
		Role:    api.ChatMessageRoleUser,
		Content: "Your last tool call could not be read. Use only the tools that are offered, by their exact names, with arguments that are one JSON object; or answer with text.",
	})
}

// tools returns the wire form of defs. The last one is kept: the tools of a run
// seldom change.
func (c *Client) tools(defs []model.Definition) (*toolset, error) {
	c.mu.Lock()
	last := c.lastTools
	c.mu.Unlock()
	if last != nil && last.same(defs) {
		return last, nil
	}
	set, err := newToolset(defs)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.lastTools = set
	c.mu.Unlock()
	return set, nil
}

// sends says whether a request under p holds the member param.
func (c *Client) sends(p *profile, param string) bool {
	if slices.Contains(c.opts.Compat.Omit, param) {
		return false
	}
	if _, ok := c.extra[param]; ok {
		return !p.dropped[param]
	}
	switch param {
	case "temperature":
		return c.opts.Temperature != nil && !p.dropped[param]
	case "stream_options":
		return c.opts.Stream && !p.dropped[param]
	case "max_tokens":
		return c.opts.MaxOutputTokens > 0 && !p.completionTokens
	case "max_completion_tokens":
		return c.opts.MaxOutputTokens > 0 && p.completionTokens
	}
	return false
}

// mayDrop lists what is left out when an endpoint refuses it: without it the
// answer is still one to the same question.
func mayDrop(param string) bool {
	return slices.Contains([]string{"temperature", "stream_options", "parallel_tool_calls"}, param)
}
