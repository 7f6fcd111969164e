package openai_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/openai"
)

// picture is a PNG of one pixel.
func picture(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// twoCalls is a conversation in which two calls of one step have these results.
func twoCalls(first, second []model.Part) *model.Request {
	return &model.Request{Memo: new(model.Memo), Messages: []model.Message{
		model.Text(model.User, "go"),
		{Role: model.Assistant, ToolCalls: []model.ToolCall{call("1", "a"), call("2", "b")}},
		{Role: model.Tool, CallID: "1", Name: "shot", Content: first},
		{Role: model.Tool, CallID: "2", Name: "list", Content: second},
	}}
}

func TestImagesOfToolsFollowTheResultsOfTheirStep(t *testing.T) {
	img := picture(t)
	server := serve(t, ok)
	c := client(t, server.url)
	req := twoCalls([]model.Part{{Type: model.TextPart, Text: "see"}, {Type: model.ImagePart, MIME: "image/gif", Data: img}}, model.TextParts("x"))
	req.Messages = append(req.Messages, model.Text(model.User, "and?"))
	for range 2 { // the second time from the memo
		if _, err := c.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 2 {
		if got := server.message(t, n, 2)["content"]; got != fmt.Sprintf("see\n(image image/gif of %d bytes: it is in the message after the results)", len(img)) {
			t.Errorf("result = %v", got)
		}
		if m := server.message(t, n, 3); m["role"] != "tool" || m["content"] != "x" {
			t.Errorf("the second result = %v", m)
		}
		want := map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "text", "text": "[What the tool shot returned beside its text:]"},
			// The type is that of the bytes and not what the guest called them.
			map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64," + base64.StdEncoding.EncodeToString(img)}},
		}}
		if diff := cmp.Diff(want, server.message(t, n, 4)); diff != "" {
			t.Error(diff)
		}
		if m := server.message(t, n, 5); m["content"] != "and?" {
			t.Errorf("the user's message = %v", m)
		}
	}
	wantSameIDs(t, server, 1, 2)
}

func TestWhatOfAToolIsNotSentIsTold(t *testing.T) {
	img := picture(t)
	for name, c := range map[string]struct {
		part model.Part
		want string
	}{
		"a broken image":      {model.Part{Type: model.ImagePart, MIME: "image/png", Data: img[:20]}, "not shown: it is no PNG"},
		"no image at all":     {model.Part{Type: model.ImagePart, MIME: "image/png", Data: []byte("<svg/>")}, "not shown: it is no PNG"},
		"an address":          {model.Part{Type: model.ImagePart, URL: "https://example.com/?stolen=1"}, "not shown: it has no data"},
		"an archive":          {model.Part{Type: model.FilePart, MIME: "application/zip", Name: "a.zip", Data: []byte("PK\x03\x04\x00")}, "(file a.zip application/zip of 5 bytes, not shown: it is neither text nor PDF)"},
		"a name that is evil": {model.Part{Type: model.FilePart, Name: "a\x1b[2J\nb", Data: []byte{0}}, `a\u{1b}[2J\u{a}b`},
		"another type":        {model.Part{Type: "video", Data: []byte{1}}, "its type is not known"},
		"text":                {model.Part{Type: model.FilePart, MIME: "text/csv", Name: "a.csv", Data: []byte("x,y")}, "[file a.csv text/csv of 3 bytes]\nx,y"},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, ok)
			generate(t, server, twoCalls([]model.Part{c.part}, nil))
			list, _ := server.body(t, 0)["messages"].([]any)
			got, _ := server.message(t, 0, 2)["content"].(string)
			if len(list) != 4 || !strings.Contains(got, c.want) || strings.Contains(got, "stolen") {
				t.Errorf("%d messages, result %q", len(list), got)
			}
		})
	}
}

func TestAPDFOfAToolIsSentAsAFile(t *testing.T) {
	server := serve(t, ok)
	generate(t, server, twoCalls([]model.Part{{Type: model.FilePart, Data: []byte("%PDF-1.7\n\x00")}}, nil))
	want := map[string]any{"type": "file", "file": map[string]any{"filename": "file.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjcKAA=="}}
	content, _ := server.message(t, 0, 4)["content"].([]any)
	if diff := cmp.Diff(want, content[1]); diff != "" {
		t.Error(diff)
	}
}

func TestAnEndpointThatTakesNoImagesIsToldOfThoseOfTools(t *testing.T) {
	for _, refusal := range []http.HandlerFunc{
		status(400, `{"error":{"message":"Invalid content type. image_url is only supported by certain models.","code":"unsupported"}}`),
		status(404, `{"error":{"message":"No endpoints found that support image input","code":404}}`),
		status(400, `{"detail":[{"loc":["body","messages",4,"content"],"msg":"extra fields not permitted"}]}`),
	} {
		server := serve(t, refusal, ok)
		c := client(t, server.url)
		req := twoCalls([]model.Part{{Type: model.ImagePart, Data: picture(t)}}, nil)
		for range 2 {
			if _, err := c.Generate(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
		}
		if server.count() != 3 {
			t.Errorf("%d requests: it was not remembered", server.count())
		}
		got, _ := server.message(t, 2, 2)["content"].(string)
		list, _ := server.body(t, 2)["messages"].([]any)
		if !strings.Contains(got, "not shown: the endpoint takes no images") || len(list) != 4 {
			t.Errorf("result %q of %d messages", got, len(list))
		}
	}
	// Whoever asks about an image is told that it was refused.
	server := serve(t, status(400, `{"error":{"message":"image_url is not supported"}}`))
	failed := failure(t, server, &model.Request{Messages: []model.Message{{Role: model.User, Content: []model.Part{{Type: model.ImagePart, Data: picture(t)}}}}})
	if failed.Kind != model.Rejected || server.count() != 1 || !strings.Contains(failed.Message, "image_url is not supported") {
		t.Errorf("error %v after %d requests", failed, server.count())
	}
}

func TestMediaThatTheEndpointDoesNotTakeAreDescribed(t *testing.T) {
	server := serve(t, ok)
	req := twoCalls([]model.Part{{Type: model.ImagePart, Data: picture(t)}}, []model.Part{{Type: model.FilePart, Data: []byte("%PDF-1.7\x00"), Name: "b.pdf"}})
	req.Messages[0].Content = []model.Part{
		{Type: model.TextPart, Text: "what is this?"},
		{Type: model.ImagePart, MIME: "image/png", Data: []byte("abc")},
		{Type: model.FilePart, MIME: "application/pdf", Name: "a.pdf", Data: []byte("\x00abc")},
		{Type: model.FilePart, MIME: "application/json", Name: "a.json", Data: []byte("{}")},
	}
	generate(t, server, req, func(o *openai.Options) { o.Compat.NoImages, o.Compat.NoFiles = true, true })
	want := "what is this?\n(image image/png of 3 bytes, not shown: the endpoint takes no images)\n" +
		"(file a.pdf application/pdf of 4 bytes, not shown: the endpoint takes no files)\n[file a.json application/json of 2 bytes]\n{}"
	if got := server.message(t, 0, 0)["content"]; got != want {
		t.Errorf("user message = %v", got)
	}
	if got := fmt.Sprint(server.message(t, 0, 2)["content"], server.message(t, 0, 3)["content"]); strings.Count(got, "not shown: the endpoint takes no") != 2 {
		t.Errorf("results = %s", got)
	}
}

func TestMediaInAMessageThatIsTextAreTold(t *testing.T) {
	server := serve(t, ok)
	img := model.Part{Type: model.ImagePart, MIME: "image/png", Data: []byte("abc")}
	generate(t, server, &model.Request{Messages: []model.Message{
		{Role: model.System, Content: []model.Part{img, {Type: model.TextPart, Text: "be brief"}}},
		model.Text(model.User, "go"),
		{Role: model.Assistant, Content: []model.Part{img}},
		model.Text(model.User, "on"),
	}})
	for i, want := range map[int]string{
		0: "be brief\n(image image/png of 3 bytes, not shown: a message of the system is text)",
		2: "(image image/png of 3 bytes, not shown: a message of the assistant is text)",
	} {
		if got := server.message(t, 0, i)["content"]; got != want {
			t.Errorf("message %d = %v", i, got)
		}
	}
}

func TestMediaThatCannotBeSentAreRefused(t *testing.T) {
	server := serve(t, ok)
	for want, part := range map[string]model.Part{
		"part 1: an image without data or URL": {Type: model.ImagePart},
		"part 1: a file without data":          {Type: model.FilePart, URL: "https://example.com/a.pdf"},
		`part 1: unknown type "video"`:         {Type: "video"},
	} {
		failed := failure(t, server, &model.Request{Messages: []model.Message{{Role: model.User, Content: []model.Part{part}}}})
		if failed.Kind != model.Rejected || !strings.Contains(failed.Message, want) {
			t.Errorf("error %v, want %s", failed, want)
		}
	}
	if server.count() != 0 {
		t.Errorf("%d requests were sent", server.count())
	}
}

// A memo finds what a tool returned beside its text again, so that a large image is
// encoded once.
func TestImagesOfToolsAreEncodedOnce(t *testing.T) {
	server := serve(t, ok)
	c := client(t, server.url)
	req := twoCalls([]model.Part{{Type: model.ImagePart, Data: picture(t)}}, nil)
	for range 3 {
		if _, err := c.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	first, last := fmt.Sprint(server.body(t, 0)["messages"]), fmt.Sprint(server.body(t, 2)["messages"])
	if first != last {
		t.Error("the beginning of the conversation changed: it cannot be cached")
	}
	if !json.Valid([]byte(server.bodies[2])) {
		t.Error("not JSON")
	}
}

// refusals of one image or file, as endpoints word them.
var oneRefused = map[string]http.HandlerFunc{
	"invalid":     status(400, `{"error":{"message":"Invalid image.","code":"invalid_image"}}`),
	"no image":    status(400, `{"error":{"message":"The image data you provided does not represent a valid image. Please use one of the supported formats.","code":"image_parse_error"}}`),
	"unsupported": status(400, `{"error":{"message":"You uploaded an unsupported image. Please use one of: png, jpeg, gif, webp."}}`),
	"a format":    status(422, `{"error":{"message":"image format is not supported: image/png"}}`),
	"unreadable":  status(500, `{"error":{"message":"failed to decode image bytes","code":500}}`),
	"too large":   status(400, `{"error":{"message":"messages.4.content.0.image.source.base64: image exceeds 5 MB maximum"}}`),
	"unsafe":      status(400, `{"error":{"message":"The image may hold content that is not allowed by our safety system"}}`),
	"too many":    status(400, `{"message":"At most 1 image(s) may be provided in one request.","code":400}`),
	"the body":    status(413, `<html>413 Request Entity Too Large</html>`),
}

func TestAnImageThatIsRefusedIsLeftOutAndOthersAreNot(t *testing.T) {
	for name, refusal := range oneRefused {
		for order, change := range map[string]func(*openai.Options){
			"as it comes": func(*openai.Options) {}, "in turns": func(o *openai.Options) { o.Compat.Order = "alternate" },
		} {
			t.Run(name+" "+order, func(t *testing.T) {
				server := serve(t, refusal, ok)
				c := client(t, server.url, change)
				req := twoCalls([]model.Part{{Type: model.ImagePart, Data: picture(t)}}, nil)
				reply, err := c.Generate(t.Context(), req, nil)
				if err != nil {
					t.Fatal(err)
				}
				wantWarning(t, reply, "image image/png of 71 bytes of the tool shot was refused and is left out: ")
				if got := fmt.Sprint(server.body(t, 1)["messages"]); strings.Contains(got, "base64") || !strings.Contains(got, "not shown: the model's endpoint refused it") {
					t.Errorf("sent again with %s", got)
				}
				// The conversation goes on without it, and says nothing more.
				req.Messages = append(req.Messages, reply.Message, model.Text(model.User, "and?"))
				if reply, err = c.Generate(t.Context(), req, nil); err != nil || len(reply.Warnings) != 0 || server.count() != 3 {
					t.Errorf("warnings %q, error %v after %d requests", reply.Warnings, err, server.count())
				}
				// Another conversation of the same client is shown its image.
				if _, err := c.Generate(t.Context(), twoCalls([]model.Part{{Type: model.ImagePart, Data: picture(t)}}, nil), nil); err != nil {
					t.Fatal(err)
				}
				if got := fmt.Sprint(server.body(t, 3)["messages"]); !strings.Contains(got, "base64") {
					t.Errorf("another conversation lost its image: %s", got)
				}
			})
		}
	}
}

// The image of an earlier step was taken: what is new is left out first, and all only
// when that was not it.
func TestWhatIsNewIsLeftOutFirst(t *testing.T) {
	refusal := oneRefused["invalid"]
	old, late := picture(t), append(picture(t), "trailing"...)
	req := twoCalls([]model.Part{{Type: model.ImagePart, Data: old}}, nil)
	req.Messages = append(req.Messages,
		model.Message{Role: model.Assistant, ToolCalls: []model.ToolCall{call("3", "c")}},
		model.Message{Role: model.Tool, CallID: "3", Name: "shot", Content: []model.Part{{Type: model.ImagePart, Data: late}}})
	server := serve(t, refusal, refusal, ok)
	reply := generate(t, server, req)
	for n, want := range []int{2, 1, 0} {
		if got := strings.Count(fmt.Sprint(server.body(t, n)["messages"]), "base64"); got != want {
			t.Errorf("request %d has %d images, want %d", n, got, want)
		}
	}
	if len(reply.Warnings) != 2 || !strings.Contains(reply.Warnings[0], "of 79 bytes") || !strings.Contains(reply.Warnings[1], "of 71 bytes") {
		t.Errorf("warnings %q", reply.Warnings)
	}
	// Where nothing of a tool is left to leave out, it is the request that is refused.
	server = serve(t, refusal)
	if failed := failure(t, server, twoCalls([]model.Part{{Type: model.ImagePart, Data: old}}, nil)); server.count() != 2 || failed.Kind != model.Rejected {
		t.Errorf("error %v after %d requests", failed, server.count())
	}
	// A reply to what a person gave is not made up for by leaving that out.
	server = serve(t, refusal)
	failure(t, server, &model.Request{Messages: []model.Message{{Role: model.User, Content: []model.Part{{Type: model.ImagePart, Data: old}}}}})
	if server.count() != 1 {
		t.Errorf("%d requests", server.count())
	}
}

func TestAFileThatIsRefusedIsLeftOut(t *testing.T) {
	server := serve(t, status(400, `{"error":{"message":"The PDF specified is password protected."}}`), ok)
	reply := generate(t, server, twoCalls([]model.Part{{Type: model.FilePart, Name: "a\x1b.pdf", Data: []byte("%PDF-1.7\n\x00")}}, []model.Part{{Type: model.ImagePart, Data: picture(t)}}))
	wantWarning(t, reply, `file a\u{1b}.pdf application/pdf of 10 bytes of the tool shot was refused`)
	if got := fmt.Sprint(server.body(t, 1)["messages"]); strings.Contains(got, "application/pdf;base64") || !strings.Contains(got, "image/png;base64") {
		t.Errorf("sent again with %s", got)
	}
}

// What is learned of a model is known for it alone: another one at the same endpoint
// is asked with the image.
func TestWhatOneModelDoesNotTakeIsKeptForItAlone(t *testing.T) {
	server := serve(t, status(400, `{"error":{"message":"image input is not supported"}}`), ok)
	req := func() *model.Request { return twoCalls([]model.Part{{Type: model.ImagePart, Data: picture(t)}}, nil) }
	blind := client(t, server.url)
	for range 2 { // in each run that has an image it is told
		reply, err := blind.Generate(t.Context(), req(), nil)
		if err != nil {
			t.Fatal(err)
		}
		wantWarning(t, reply, "the endpoint takes no images: 1 of tools were told as text")
	}
	if _, err := client(t, server.url, func(o *openai.Options) { o.Name = "sees" }).Generate(t.Context(), req(), nil); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(server.body(t, 3)["messages"]); server.count() != 4 || !strings.Contains(got, "base64") {
		t.Errorf("%d requests, the last with %s", server.count(), got)
	}
}
