package selftest

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
)

// Whom a secret is sent to, and who else may hear of it.

// twoServers makes a check of two servers that are granted, of which the first has
// a secret.
func twoServers(ctx context.Context, l *lab, own http.HandlerFunc, do func(own, other *server, m *sandbox.Module) error) error {
	first, err := serve(own)
	if err != nil {
		return err
	}
	defer first.Close()
	other, err := serve(nil)
	if err != nil {
		return err
	}
	defer other.Close()
	m, err := l.load(ctx, "ask", keeping(first, other))
	if err != nil {
		return err
	}
	return errors.Join(do(first, other, m), m.Close(ctx))
}

func elsewhereWithoutSecret(ctx context.Context, l *lab) error {
	return twoServers(ctx, l, nil, func(own, other *server, m *sandbox.Module) error {
		got, err := l.visit(ctx, m, get(other.URL+"/"))
		return errors.Join(err, got.answered(), other.received(""), own.received())
	})
}

func redirectedWithoutSecret(ctx context.Context, l *lab) error {
	send := func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			return
		}
		_, _ = w.Write([]byte("word"))
	}
	return twoServers(ctx, l, send, func(own, other *server, m *sandbox.Module) error {
		away, err := l.visit(ctx, m, get(own.URL+"/?to="+url.QueryEscape(other.URL+"/")))
		if err != nil {
			return err
		}
		home, err := l.visit(ctx, m, get(own.URL+"/?to=/"))
		return errors.Join(err, away.answered(), home.answered(), own.received(bearer, bearer, ""), other.received(""))
	})
}

func ownHeader(ctx context.Context, l *lab) error {
	return twoServers(ctx, l, nil, func(own, _ *server, m *sandbox.Module) error {
		var err error
		for _, name := range []string{"Authorization", "authorization", "AUTHORIZATION"} {
			r := get(own.URL + "/")
			r.Headers = map[string]string{name: "Bearer of the guest's"}
			got, e := l.visit(ctx, m, r)
			err = errors.Join(err, e, untouched(got, own))
		}
		return err
	})
}
