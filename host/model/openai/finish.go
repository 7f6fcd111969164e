package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wagent-dev/wagent/host/model"
)

// codeEmpty marks a reply that announced calls and held nothing.
const codeEmpty = "empty_reply"

// maxDetails is how many pieces of reasoning are put together; more are kept as
// they came.
const maxDetails = 1 << 15

// reply makes the draft into a reply to req. The stream must have ended
// properly: what is empty now is meant to be.
func (d *draft) reply(req *model.Request) (*model.Reply, error) {
	if d.choices == 0 {
		return nil, &model.Error{Kind: model.Stream, Retryable: true, Message: "the reply has no choices"}
	}
	if strings.EqualFold(d.finish, "error") {
		return nil, d.broken(&model.Error{Kind: model.Stream, Retryable: true, Message: "the provider ended the reply with an error"})
	}
	r := &model.Reply{
		Message: model.Message{Role: model.Assistant, Origin: d.origin, Reasoning: d.reasoning.String()},
		Finish:  finishReason(d.finish), RequestID: d.id,
	}
	if d.finish == "" {
		d.warn("the provider did not say why the reply ended")
	}
	d.finishText(r)
	d.finishCalls(r)
	if err := d.settleFinish(r); err != nil {
		return nil, err
	}
	d.warnOfTextCall(r)
	if err := d.finishExtra(r); err != nil {
		return nil, err
	}
	if err := d.count(req, r); err != nil {
		return nil, err
	}
	r.Warnings = d.warnings
	return r, nil
}

func finishReason(s string) model.FinishReason {
	switch strings.ToLower(s) {
	case "tool_calls", "function_call", "tool_use", "tool_call":
		return model.FinishToolCalls
	case "length", "max_tokens", "model_length", "max_output_tokens":
		return model.FinishLength
	case "content_filter", "safety", "recitation", "prohibited_content", "blocklist":
		return model.FinishContentFilter
	}
	return model.FinishStop
}

func (d *draft) finishText(r *model.Reply) {
	text := d.text.String()
	if text == "" && d.refusal.Len() > 0 {
		text = d.refusal.String()
		d.warn("the model refused to answer")
	}
	if text != "" {
		r.Message.Content = model.TextParts(strings.ToValidUTF8(text, "\uFFFD"))
	}
}

// finishCalls reads the calls. Of a reply that the provider says was cut off, a
// call that is not complete is not kept. Where it does not say so, arguments that
// end too early are a mistake of the model like any other that cannot be read:
// they are not repaired, and it is told.
func (d *draft) finishCalls(r *model.Reply) {
	for _, c := range d.calls.calls {
		if c.blank() {
			continue
		}
		args := c.read()
		if r.Finish == model.FinishContentFilter || (r.Finish == model.FinishLength && !args.strict) {
			r.DroppedCalls++
			name, _ := d.tools.resolve(strings.ToValidUTF8(c.name, "\uFFFD"))
			r.DroppedNames = append(r.DroppedNames, name)
			continue
		}
		r.Message.ToolCalls = append(r.Message.ToolCalls, d.call(c, args))
	}
	if r.DroppedCalls > 0 {
		d.warn("%d tool calls were cut off and dropped", r.DroppedCalls)
	}
}

func (d *draft) call(c *callDraft, args arguments) model.ToolCall {
	name, changed := d.tools.resolve(strings.ToValidUTF8(c.name, "\uFFFD"))
	if changed {
		d.warn("the call of %q was read as a call of %q", c.name, name)
	}
	if args.repaired != "" {
		d.warn("the arguments of a call of %q were repaired: %s", name, args.repaired)
	}
	if args.invalid != nil {
		d.warn("the arguments of a call of %q cannot be read: %s", name, args.invalid.Problem)
	}
	call := model.ToolCall{Name: name, Arguments: args.object, Invalid: args.invalid, WireID: c.id}
	if len(c.extra) > 0 {
		call.Extra, _ = marshal(c.extra) // raw JSON that was read before
	}
	return call
}

// settleFinish makes the reason agree with what there is to do: the calls count,
// not what the provider says of them.
func (d *draft) settleFinish(r *model.Reply) error {
	calls := len(r.Message.ToolCalls)
	switch {
	case calls > 0 && r.Finish == model.FinishStop:
		r.Finish = model.FinishToolCalls
	case calls == 0 && r.Finish == model.FinishToolCalls && len(r.Message.Content) > 0:
		r.Finish = model.FinishStop
		d.warn("the provider announced tool calls and sent none: the text counts as the answer")
	case calls == 0 && r.Finish == model.FinishToolCalls:
		return &model.Error{
			Kind: model.Stream, Code: codeEmpty, Retryable: true,
			Message: "the provider announced tool calls and sent nothing",
		}
	}
	return nil
}

// warnOfTextCall reports a call that the server did not recognise. It is not
// run: text that the model quotes could hold the same.
func (d *draft) warnOfTextCall(r *model.Reply) {
	if len(r.Message.ToolCalls) > 0 || len(d.tools.defs) == 0 {
		return
	}
	text := r.Message.Text()
	for _, mark := range []string{"<tool_call>", "<function=", "[TOOL_CALLS]", "<|python_tag|>", "<function_calls>", "<|tool_call", "<｜tool"} {
		if strings.Contains(text, mark) {
			d.warn("the text holds %q: the server did not parse the model's tool call, which was not run", mark)
			return
		}
	}
}

func (d *draft) finishExtra(r *model.Reply) error {
	if list := d.extra.list("reasoning_details"); len(list) > 1 && len(list) <= maxDetails {
		raw, err := marshal(joinDetails(list))
		if err != nil {
			return fmt.Errorf("keep reasoning: %w", err)
		}
		d.extra["reasoning_details"] = raw
	}
	for _, p := range d.pieces {
		d.content = append(d.content, p.part())
	}
	if len(d.content) > 0 {
		raw, err := marshal(d.content)
		if err != nil {
			return fmt.Errorf("keep content parts: %w", err)
		}
		d.extra["content"] = raw
	}
	if len(d.extra) == 0 {
		return nil
	}
	raw, err := marshal(d.extra)
	if err != nil {
		return fmt.Errorf("keep unknown members: %w", err)
	}
	r.Message.Extra = json.RawMessage(raw)
	return nil
}

// estimated is what req costs, by our estimate.
func (d *draft) estimated(req *model.Request) int64 {
	if d.prompt > 0 {
		return d.prompt
	}
	return model.EstimateTokens(req)
}

// spent is what a reply to req cost that came to nothing: what the provider says, or
// an estimate when something of a reply had arrived.
func (d *draft) spent(req *model.Request) model.Usage {
	u, ok := readUsage(d.usage)
	if ok && u.PromptTokens > 0 {
		return u
	}
	if d.choices == 0 {
		return model.Usage{}
	}
	u = model.Usage{Estimated: true, PromptTokens: d.estimated(req)}
	u.CompletionTokens = model.EstimateMessage(&model.Message{Content: model.TextParts(d.text.String()), Reasoning: d.reasoning.String()})
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

// count reads the usage, and estimates what the provider does not say. A prompt
// that counted far less than was sent has lost its beginning, with the system
// prompt and the tools, on the way: when the count is a round number, as a full
// window is, that is certain enough to fail.
func (d *draft) count(req *model.Request, r *model.Reply) error {
	u, ok := readUsage(d.usage)
	prompt := d.estimated(req)
	if !ok || u.PromptTokens == 0 {
		u.Estimated = true
		u.PromptTokens = prompt
		if u.CompletionTokens == 0 {
			u.CompletionTokens = model.EstimateMessage(&r.Message)
		}
		u.TotalTokens = u.PromptTokens + u.CompletionTokens
		r.Usage = u
		return nil
	}
	r.Usage = u
	if prompt < minCutPrompt || u.PromptTokens+u.CachedTokens >= prompt/2 {
		return nil
	}
	const what = "the server counted %d tokens of a prompt of about %d: its context is too small and it cut the beginning; give it a larger one (Ollama: num_ctx, llama.cpp: --ctx-size)"
	if u.PromptTokens%contextBlocks == 0 {
		return &model.Error{
			Kind: model.ContextOverflow, Limit: u.PromptTokens, Partial: r.Message.Text(),
			Message: fmt.Sprintf(what, u.PromptTokens, prompt),
		}
	}
	d.warn(what, u.PromptTokens, prompt)
	return nil
}
