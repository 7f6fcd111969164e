package selftest

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/redact"
	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/policy"
)

func secretChecks() []check {
	return []check{
		{"SEC-0", "a request to which the host adds a secret, to show that the attacks would work", "the server got the secret", secretSent},
		{"SEC-1a", "a server that sends the secret back, in ten encodings, in the body or a header", "taken out before the guest had it; none of its memory held it", mirrored},
		{"SEC-1b", "a server that sends the secret back in a compression that cannot be read", "the response refused", unreadable},
		{"SEC-1c", "asking for a part of the response, or for another character set", "the request was sent without that", partly},
		{"SEC-1d", "asking the host for the secret by its name", "told that it exists, and nothing more", byName},
		{"SEC-2a", "an answer that holds the secret in eight encodings, as text, data, link and error", "taken out of it", answerTells},
		{"SEC-2b", "log lines and progress that hold the secret", "taken out of them", linesTell},
		{"SEC-2c", "standard output and error that hold the secret, in one piece and in two", "taken out of them", outputTells},
		{"SEC-2d", "a URL and a key with the secret in them, while the call is traced", "taken out of the trace", traceTells},
		{"SEC-3", "a manifest with an API key and a secret, printed in every form", "neither was in it", printedManifest},
	}
}

// token is a secret with characters that encodings write in another way, and
// tokenName what its manifest calls it.
const (
	token     = `cnry/4f1d9c7e"2b<8a`
	tokenName = "TOKEN"
)

// keeping grants the servers, and the token as a secret for the first.
func keeping(servers ...*server) func(*sandbox.Source) {
	return func(s *sandbox.Source) {
		g := &s.Policy.Grants
		for _, one := range servers {
			reaching(one.URL)(s)
		}
		if len(servers) > 0 {
			at := g.HTTP[len(g.HTTP)-len(servers)]
			g.Secrets = []policy.Secret{{Name: tokenName, Scheme: at.Scheme, Host: at.Host, Port: at.Port, Header: "Authorization", Format: "Bearer {}"}}
		}
		s.Secrets = map[string]string{tokenName: token}
		s.Redact = redact.New(token)
	}
}

// credentials are what a server got in the secret's header.
func credentials(s *server) []string {
	var all []string
	for _, r := range s.requests() {
		all = append(all, r.header.Get("Authorization"))
	}
	return all
}

const bearer = "Bearer " + token

// received says that a server got these and no more.
func (s *server) received(want ...string) error {
	if got := credentials(s); !slices.Equal(got, want) {
		return fmt.Errorf("a server got %q and not %q", got, want)
	}
	return nil
}

// forms are the token as it is, and as encodings write it.
func forms() map[string]string {
	quoted, _ := json.Marshal(token)
	back := []byte(token)
	slices.Reverse(back)
	return map[string]string{
		"raw": token, "base64": base64.StdEncoding.EncodeToString([]byte(token)), "shifted": base64.RawURLEncoding.EncodeToString([]byte("a" + token)),
		"hex": hex.EncodeToString([]byte(token)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(token))),
		"URL": url.QueryEscape(token), "JSON": string(quoted[1 : len(quoted)-1]), "reversed": string(back),
	}
}

// piece is a part of the token that is written in the same way wherever it is not
// encoded.
const piece = "4f1d9c7e"

// betrayed says in which form the token is in a text.
func betrayed(text string) error {
	if strings.Contains(text, piece) {
		return errors.New("the secret was told")
	}
	for name, form := range forms() {
		if strings.Contains(text, form) {
			return fmt.Errorf("the secret was told, form: %s", name)
		}
	}
	return nil
}

// hidden says that the token was in a text, and is not.
func hidden(text string) error {
	if err := betrayed(text); err != nil {
		return err
	}
	if !strings.Contains(text, redact.Mark) {
		return fmt.Errorf("nothing was taken out of %.200q", text)
	}
	return nil
}

// mirror answers with the token in the form that the path names.
func mirror(w http.ResponseWriter, r *http.Request) {
	got := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if got != token {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	switch form := strings.TrimPrefix(r.URL.Path, "/"); form {
	case "header":
		w.Header().Set("X-Echo", token)
		_, _ = w.Write([]byte("you sent " + token))
	case "gzip":
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write([]byte(token))
		_ = z.Close()
	case "br":
		w.Header().Set("Content-Encoding", "br")
		_, _ = w.Write([]byte(token))
	default:
		_, _ = w.Write([]byte(forms()[form]))
	}
}

// withMirror makes a check of a server that sends the secret back.
func (l *lab) withMirror(do func(*server) error) error {
	s, err := serve(mirror)
	if err != nil {
		return err
	}
	defer s.Close()
	return do(s)
}

func secretSent(ctx context.Context, l *lab) error {
	s, err := serve(nil)
	if err != nil {
		return err
	}
	defer s.Close()
	got, err := l.fetch(ctx, get(s.URL+"/"), keeping(s))
	return errors.Join(err, got.answered(), s.received(bearer))
}

// mirrored asks for the secret in each form, and searches for all of them in all
// that the guest has afterwards: as they are, and as responses write their bodies.
func mirrored(ctx context.Context, l *lab) error {
	return l.withMirror(func(s *server) error {
		return l.talking(ctx, func(ctx context.Context, t *talk) error { return t.mirrors(ctx, s) }, keeping(s))
	})
}

// mirrorRoom is how much of a response the guest reads, in bytes.
const mirrorRoom = 2 << 10

func (t *talk) mirrors(ctx context.Context, s *server) error {
	p, all := &program{}, forms()
	paths := append(slices.Sorted(maps.Keys(all)), "header", "gzip")
	var places []uint32
	for _, path := range paths {
		req, err := json.Marshal(get(s.URL + "/" + path))
		if err != nil {
			return err
		}
		places = append(places, p.fetch(p.text(callHTTP, string(req)), mirrorRoom))
	}
	found := map[int]string{}
	for name, form := range all {
		found[p.search(form)], found[p.search(base64.StdEncoding.EncodeToString([]byte(form)))] = name, name
	}
	p.showAt, p.show = dataAt, uint32(len(p.data))
	h, err := t.do(ctx, p, sandbox.Call{})
	if err != nil {
		return err
	}
	for step, name := range found {
		err = errors.Join(err, h.gave(step, 0, "places in the guest's memory where it is, form: "+name))
	}
	for i, path := range paths {
		r, e := h.response(places[i], mirrorRoom)
		if e == nil {
			e = hidden(fmt.Sprint(string(r.Body), r.Headers))
		}
		if e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", path, e))
		}
	}
	return err
}

func unreadable(ctx context.Context, l *lab) error {
	return l.withMirror(func(s *server) error {
		got, err := l.fetch(ctx, get(s.URL+"/br"), keeping(s))
		if err == nil && !got.refused {
			err = fmt.Errorf("the guest was given %q", got.Body)
		}
		return errors.Join(err, s.received(bearer))
	})
}

func partly(ctx context.Context, l *lab) error {
	return l.withMirror(func(s *server) error {
		r := get(s.URL + "/raw")
		r.Headers = map[string]string{"Range": "bytes=2-9", "If-Range": `"x"`, "Accept-Encoding": "br", "Accept-Charset": "utf-16"}
		got, err := l.fetch(ctx, r, keeping(s))
		if err != nil {
			return err
		}
		for _, saw := range s.requests() {
			for name, asked := range r.Headers {
				if saw.header.Get(name) == asked {
					err = errors.Join(err, fmt.Errorf("the server got %s: %s", name, asked))
				}
			}
		}
		return errors.Join(err, hidden(string(got.Body)), s.received(bearer))
	})
}

func byName(ctx context.Context, l *lab) error {
	return l.withMirror(func(s *server) error {
		return l.talking(ctx, func(ctx context.Context, t *talk) error {
			p := &program{}
			there := p.text(callSecretExists, tokenName)
			no := []int{p.text(callSecretExists, "OTHER"), p.text(callSecretExists, "token"), p.text(callSecretExists, ""), p.search(token)}
			h, err := t.do(ctx, p, sandbox.Call{})
			if err != nil {
				return err
			}
			err = h.gave(there, 1, "asking for it")
			for _, step := range no {
				err = errors.Join(err, h.gave(step, 0, "asking for another, or the value in memory"))
			}
			return err
		}, keeping(s))
	})
}
