// Package openai speaks to any endpoint that is compatible with OpenAI's chat
// completions: OpenAI itself, Ollama, vLLM, llama.cpp, Mistral, Groq,
// OpenRouter, the compatible side of Gemini, and proxies before them.
//
//	c, err := openai.New(openai.Options{Name: "gpt-5-mini", APIKey: key, Stream: true})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	reply, err := c.Generate(ctx, &model.Request{Messages: msgs}, nil)
//
// Compatible endpoints differ in what they send and in what they refuse.
// Replies are read by a decoder that takes a field in any shape that was seen
// in the wild and turns it into one form. What an endpoint refuses is learned
// from its answer, mended once, and remembered by the client; [Compat] says it
// beforehand.
//
// Requests use the request, tool and error types of go-openai; the messages in
// them are bytes that are made once per message and kept in [model.Memo].
package openai
