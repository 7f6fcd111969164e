package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/sdk/abi"
	"github.com/wagent-dev/wagent/sdk/internal/native"
)

// granted is a call on a host that answers HTTP with res.
func granted(res *abi.HTTPResponse) *Call {
	return &Call{host: host{&native.Host{HTTP: func(*abi.HTTPRequest) *abi.HTTPResponse { return res }}}}
}

func TestARefusedRequestPassesTheGrantLineOn(t *testing.T) {
	const line = "add to its tool: allow: {http: [{host: example.com, methods: [GET]}]}"
	var r registry
	register(&r, "fetch", "", func(c *Call, _ struct{}) (string, error) {
		_, err := Get(c, "https://example.com/")
		var e *abi.Error
		if !errors.As(err, &e) || e.Kind != abi.AuthRequired {
			t.Errorf("got %#v", err)
		}
		return "", fmt.Errorf("getting the page: %w", err)
	}, nil)
	refusal := &abi.HTTPResponse{Error: &abi.HTTPError{Code: "denied", Message: line}}
	got := answerOn(t, &r, granted(refusal).host, "fetch", `{}`)
	want := abi.Response{V: 1, Error: &abi.Error{Kind: abi.AuthRequired, Message: "getting the page: " + line}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestHTTPFaultsHaveAKind(t *testing.T) {
	tests := map[string]abi.ErrorKind{
		"denied": abi.AuthRequired, "invalid": abi.Input, "too_large": abi.Input, "too_many": abi.RateLimited,
		"timeout": abi.Unavailable, "unavailable": abi.Unavailable, "": abi.Internal, "new": abi.Internal,
	}
	for code, kind := range tests {
		_, err := Get(granted(&abi.HTTPResponse{Error: &abi.HTTPError{Code: code, Message: "why"}}), "https://example.com/")
		if diff := cmp.Diff(error(&abi.Error{Kind: kind, Message: "why"}), err); diff != "" {
			t.Errorf("%q: %s", code, diff)
		}
	}
}

func TestHostNumbersHaveAKind(t *testing.T) {
	tests := map[error]abi.ErrorKind{
		abi.ErrDenied: abi.AuthRequired, abi.ErrInvalid: abi.Input, abi.ErrTooLarge: abi.Input, abi.ErrTooMany: abi.RateLimited,
		abi.ErrTimeout: abi.Unavailable, abi.ErrUnavailable: abi.Unavailable, abi.ErrNotFound: abi.NotFound,
		abi.ErrUnsupported: abi.Internal, abi.ErrInternal: abi.Internal, abi.Errno(-99): abi.Internal, errors.New("odd"): abi.Internal,
	}
	for err, kind := range tests {
		got := toolError(refused("kv get a", err))
		if diff := cmp.Diff(&abi.Error{Kind: kind, Message: "kv get a: " + err.Error()}, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestARequestIsSentAsItIs(t *testing.T) {
	want := abi.HTTPRequest{Method: "POST", URL: "https://example.com/a?b=<c>", Headers: map[string]string{"A": "b"}, Body: []byte{0, 255}}
	var got abi.HTTPRequest
	answer := &abi.HTTPResponse{Status: 404, URL: want.URL, Headers: map[string]string{"B": "c"}, Body: []byte{255, 0}}
	c := &Call{host: host{&native.Host{HTTP: func(r *abi.HTTPRequest) *abi.HTTPResponse { got = *r; return answer }}}}
	res, err := Do(c, &want)
	if err != nil {
		t.Fatal("a status is no error:", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(answer, res); diff != "" {
		t.Error(diff)
	}
}

// What is not granted is refused by kind, and a Call that no host made is
// a host that grants nothing.
func TestNothingIsGrantedUnasked(t *testing.T) {
	for name, c := range map[string]*Call{"empty": {}, "bare host": {host: host{&native.Host{}}}} {
		t.Run(name, func(t *testing.T) {
			c.Infof("heard by %s", "nobody")
			c.Progress(1, 2, "seen by nobody")
			_, httpErr := Get(c, "https://example.com/")
			_, getErr := KVGet(c, "a")
			_, listErr := KVList(c, "a")
			for _, err := range []error{httpErr, getErr, listErr, KVSet(c, "a", nil), KVDelete(c, "a"), StateGet(c, "a", new(int))} {
				var e *abi.Error
				if !errors.As(err, &e) || e.Kind != abi.AuthRequired {
					t.Errorf("got %v", err)
				}
			}
			if ok, err := SecretExists(c, "a"); ok || err != nil {
				t.Errorf("a secret: %v, %v", ok, err)
			}
			if f := Folders(c); len(f) != 0 {
				t.Errorf("folders: %v", f)
			}
		})
	}
}

func TestAStoreKeepsCopies(t *testing.T) {
	c := &Call{host: host{&native.Host{KV: map[string][]byte{}}}}
	value := []byte("one")
	if err := errors.Join(KVSet(c, "b", value), KVSet(c, "a/2", nil), KVSet(c, "a/1", []byte("x"))); err != nil {
		t.Fatal(err)
	}
	value[0] = 'X'
	got, err := KVGet(c, "b")
	if err != nil || string(got) != "one" {
		t.Errorf("got %q, %v", got, err)
	}
	if keys, err := KVList(c, "a/"); err != nil || !cmp.Equal(keys, []string{"a/1", "a/2"}) {
		t.Errorf("keys %q, %v", keys, err)
	}
	// A prefix that no key can have asks for nothing, and is not taken for a page.
	if keys, err := KVList(c, "\xffa"); err != nil || len(keys) != 0 {
		t.Errorf("keys %q, %v", keys, err)
	}
	if err := errors.Join(KVDelete(c, "b"), KVDelete(c, "b")); err != nil {
		t.Error(err)
	}
	if _, err := KVGet(c, "b"); toolError(err).Kind != abi.NotFound {
		t.Errorf("got %v", err)
	}
}

func TestStateIsDecoded(t *testing.T) {
	c := &Call{host: host{&native.Host{State: map[string]json.RawMessage{"topic": json.RawMessage(`"go"`)}}}}
	var s string
	if err := StateGet(c, "topic", &s); err != nil || s != "go" {
		t.Errorf("%q, %v", s, err)
	}
	if err := StateGet(c, "nothing", &s); toolError(err).Kind != abi.NotFound {
		t.Errorf("got %v", err)
	}
	if err := StateGet(c, "topic", new(int)); err == nil || toolError(err).Kind != abi.Internal {
		t.Errorf("got %v", err)
	}
}

func TestGrantedLooksAtWholeNames(t *testing.T) {
	folders := []string{"/data", "/out/"}
	for name, want := range map[string]bool{
		"/data": true, "/data/a/b": true, "/data/./a": true, "/out/a": true, "/data/../out/a": true,
		"/database": false, "/data/..": false, "/data/../etc/passwd": false, "/": false, "": false, "data/a": false, "../data": false,
	} {
		if got := Granted(folders, name); got != want {
			t.Errorf("%q: got %v", name, got)
		}
	}
	if !Granted([]string{"/"}, "/etc") || Granted([]string{"/"}, "etc") || Granted(nil, "/") {
		t.Error("the root folder")
	}
}
