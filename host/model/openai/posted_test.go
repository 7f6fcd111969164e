package openai

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host/model"
)

const fine = `{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`

// late answers at once and reads the body of a request only afterwards, as a
// transport may. It says that it is sent, or says nothing.
type late struct {
	bodies []io.Reader
	says   bool
}

func (l *late) RoundTrip(r *http.Request) (*http.Response, error) {
	l.bodies = append(l.bodies, r.Body)
	if again, err := r.GetBody(); err == nil {
		l.bodies = append(l.bodies, again) // as for a second try
	}
	if l.says {
		httptrace.ContextClientTrace(r.Context()).WroteRequest(httptrace.WroteRequestInfo{})
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(fine)), Request: r}, nil
}

// A body that a transport may still read is never written over, whether it was given
// out once or twice.
func TestABodyInUseIsNotWrittenOver(t *testing.T) {
	for _, says := range []bool{false, true} {
		l := &late{says: says}
		c := newTestClient(t, Options{Name: "m", BaseURL: "http://model.invalid", HTTPClient: &http.Client{Transport: l}})
		for _, text := range []string{"first", "again", "third"} {
			say(t, c, text)
		}
		for i, want := range []string{"first", "first", "again", "again", "third", "third"} {
			if b, err := io.ReadAll(l.bodies[i]); err != nil || !bytes.Contains(b, []byte(want)) {
				t.Errorf("says %v: body %d is %s, %v; want %q", says, i, b, err, want)
			}
		}
	}
}

// What arrives is what was asked, however many requests share buffers.
func TestBodiesArriveAsTheyAre(t *testing.T) {
	got := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- string(b)
		_, _ = io.WriteString(w, fine)
	}))
	t.Cleanup(s.Close)
	c := newTestClient(t, Options{Name: "m", BaseURL: s.URL})
	for _, n := range []int{1, 5000, 40_000, 3, 20_000, 60_000, 2} {
		text := strings.Repeat("x", n)
		say(t, c, text)
		if b := <-got; !strings.Contains(b, `"`+text+`"`) || !strings.HasSuffix(b, "}") {
			t.Errorf("%d bytes of text: a body of %d", n, len(b))
		}
	}
}

func newTestClient(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func say(t *testing.T, c *Client, text string) {
	t.Helper()
	reply, err := c.Generate(t.Context(), &model.Request{Messages: []model.Message{model.Text(model.User, text)}}, nil)
	if err != nil || reply.Message.Content[0].Text != "ok" {
		t.Fatal(reply, err)
	}
}
