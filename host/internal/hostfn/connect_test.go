package hostfn

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// CPU-9: nothing is left of a request that ended while it was connecting.
func TestConnectingEndsWithTheCall(t *testing.T) {
	w, ended := newWorld(), make(chan struct{})
	w.names["api.example.com"] = [][]netip.Addr{{addr(1)}}
	o := limits()
	o.Resolve = w.resolve
	o.Dial = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
		defer close(ended)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	h := openHTTP(t, o, rule(t, "api.example.com", nil))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	wantCode(t, "deaf", h.Session().Do(ctx, abi.HTTPRequest{URL: "https://api.example.com/"}), "timeout")
	select {
	case <-ended:
	case <-time.After(30 * time.Second): // nothing else would end it
		t.Fatal("the host still connects for a call that is over")
	}
}

// CPU-9: nor of one that ended in the middle of a handshake.
func TestHandshakeEndsWithTheCall(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	w, began, ended := newWorld(), make(chan struct{}), make(chan struct{})
	w.names["api.example.com"] = [][]netip.Addr{{addr(1)}}
	w.servers[netip.AddrPortFrom(addr(1), 443)] = silent.Addr().String()
	go func() {
		defer close(ended)
		c, err := silent.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		close(began)
		for b := make([]byte, 1024); err == nil; {
			_, err = c.Read(b)
		}
		_ = c.Close()
	}()
	h := w.open(t, limits(), rule(t, "api.example.com", nil))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	wantCode(t, "silent", h.Session().Do(ctx, abi.HTTPRequest{URL: "https://api.example.com/"}), "timeout")
	select {
	case <-ended:
	case <-time.After(handshakeTimeout / 2): // at the whole of it, it would end by itself
		t.Error("the handshake goes on for a call that is over")
		<-ended
	}
}

func TestCloseWaitsForWhatIsConnecting(t *testing.T) {
	w, began := newWorld(), make(chan struct{})
	w.names["api.example.com"] = [][]netip.Addr{{addr(1)}}
	done := false
	o := limits()
	o.Resolve = w.resolve
	o.Dial = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
		close(began)
		<-ctx.Done()
		done = true // what the race detector sees, if Close does not wait
		return nil, ctx.Err()
	}
	h := NewHTTP(nil, o)
	h.rules = append(h.rules, rule(t, "api.example.com", nil))
	ctx, cancel := context.WithCancel(t.Context())
	go h.Session().Do(ctx, abi.HTTPRequest{URL: "https://api.example.com/"})
	<-began
	cancel()
	if err := h.Close(); err != nil || !done {
		t.Errorf("closed while it connects: %v", err)
	}
	if _, err := h.dialPlain(t.Context(), "tcp", "api.example.com:443"); err == nil {
		t.Error("a closed module connects")
	}
}
