package hostfn

// Attack: a server that takes connections and then is silent, so that each call
// leaves a socket behind that is still being made.

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
)

// requestKey is where the context of a request keeps what connecting needs of it.
// net/http connects under one that has its values and not its end, for the sake of
// later requests.
type requestKey struct{}

type requestEnd struct {
	ctx       context.Context // the request's
	connected func()          // told when there is a connection, whatever comes of it
}

func keepingEnd(ctx context.Context, connected func()) context.Context {
	return context.WithValue(ctx, requestKey{}, requestEnd{ctx, connected})
}

// connecting runs dial, which ends with the request that it is for, and which
// Close waits for.
func (h *HTTP) connecting(ctx context.Context, dial func(context.Context) (net.Conn, error)) (net.Conn, error) {
	if !h.begin() {
		return nil, unavailable("the module is being closed")
	}
	defer h.running.Done()
	request, ok := ctx.Value(requestKey{}).(requestEnd)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if ok {
		defer context.AfterFunc(request.ctx, cancel)()
	}
	return dial(ctx)
}

// reach is dial, and tells the request that there is a connection: one that fails
// later has sent something all the same.
func (h *HTTP) reach(ctx context.Context, address string) (net.Conn, error) {
	conn, err := h.dial(ctx, address)
	if request, ok := ctx.Value(requestKey{}).(requestEnd); ok && err == nil {
		request.connected()
	}
	return conn, err
}

func (h *HTTP) dialPlain(ctx context.Context, _, address string) (net.Conn, error) {
	return h.connecting(ctx, func(ctx context.Context) (net.Conn, error) { return h.reach(ctx, address) })
}

func (h *HTTP) dialTLS(ctx context.Context, _, address string) (net.Conn, error) {
	return h.connecting(ctx, func(ctx context.Context) (net.Conn, error) {
		to, err := splitAddress(address)
		if err != nil {
			return nil, err
		}
		conn, err := h.reach(ctx, address)
		if err != nil {
			return nil, err
		}
		config := h.secure.Clone()
		config.ServerName = to.host
		secure := tls.Client(conn, config)
		ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
		defer cancel()
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return secure, nil
	})
}
