package hostfn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// NET-7: headers that are not the guest's to set, in any spelling.
func TestReservedHeadersAreRefused(t *testing.T) {
	w, s := newWorld(), &seen{}
	w.serve(t, "https://api.example.com", s.handler(say("hello")))
	h := w.open(t, limits(), rule(t, "api.example.com", nil))
	do := func(headers map[string]string) abi.HTTPResponse {
		return h.Session().Do(t.Context(), abi.HTTPRequest{URL: "https://api.example.com/", Headers: headers})
	}
	for _, name := range []string{
		"Host", "host", "HOST", "Content-Length", "content_length", "Transfer-Encoding", "Transfer_Encoding", "Connection", "Keep-Alive", "TE", "Trailer",
		"Upgrade", "Expect", "Proxy-Authorization", "Proxy-Connection", "proxy_x", "Via", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "x_forwarded_proto",
		"X-HTTP-Method-Override", "X_HTTP_Method_Override", "X-HTTP-Method", "X-Method-Override", "X-Original-URL", "X-Rewrite-URL", "X-Real-IP", "HTTP2-Settings",
		"X-HTTP-Path-Override", "X-HTTP-Host-Override", "X-Host-Override", "Method-Override", "x_http_method", "X-Original-URI", "X-Original-Path", "X-Rewrite-URI", "X-Override-URL",
		"X-Envoy-Original-Path", "X-Envoy-Decorator-Operation", "X-Originating-IP", "X-Proxy-URL", "X-ProxyUser-IP", "Destination", "Fastly-Client-IP",
	} {
		wantCode(t, name, do(map[string]string{name: "x"}), "denied", "not the guest's")
	}
	for name, value := range map[string]string{
		"": "x", "a b": "x", "a:b": "x", "a\r\nHost": "x", "\x00": "x", "grün": "x", ":authority": "x", "a\tb": "x",
		"A": "x\r\nY: z", "B": "x\ny", "C": "x\x00", "D": "x\x7f", "E": "\x1b[2J", "F": "\r",
	} {
		wantCode(t, fmt.Sprintf("%q: %q", name, value), do(map[string]string{name: value}), "invalid")
	}
	wantCode(t, "twice", do(map[string]string{"accept": "a", "Accept": "b"}), "invalid")
	many := map[string]string{}
	for i := range maxHeaders + 1 {
		many[fmt.Sprint("X-", i)] = ""
	}
	wantCode(t, "many", do(many), "too_many")
	wantCode(t, "large", do(map[string]string{"A": strings.Repeat("x", maxHeaderBytes)}), "too_large")
	if s.count() > 0 {
		t.Errorf("%d requests were made", s.count())
	}
	wantBody(t, "the guest's own", do(map[string]string{"X-Api-Key": "k", "Cookie": "a=b", "Accept": "text/*", "User-Agent": "mine"}), "hello")
	if got := s.reqs[0].Header; got.Get("User-Agent") != "mine" || got.Get("X-Api-Key") != "k" || got.Get("Cookie") != "a=b" {
		t.Errorf("the server got %v", got)
	}
}
