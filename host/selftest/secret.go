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
	"path/filepath"
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/redact"
	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
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

// everything is all that an outcome says.
func everything(out *sandbox.Outcome) (string, error) {
	b, err := json.Marshal(out)
	var data strings.Builder
	for _, c := range out.Result.Content {
		data.Write(c.Data)
		if c.Resource != nil {
			data.Write(c.Resource.Blob)
		}
	}
	return string(b) + text(out) + data.String() + out.Detail, err
}

// answers are those of a tool that tells what it was told, in every part.
func answers(told string) []map[string]any {
	text := []any{map[string]string{"type": "text", "text": told}}
	return []map[string]any{
		{"v": 1, "content": text},
		{"v": 1, "content": text, "isError": true},
		{"v": 1, "content": []any{}, "structuredContent": map[string]string{"it is": told}},
		{"v": 1, "content": []any{map[string]any{"type": "image", "mimeType": "image/png", "data": []byte(told)}}},
		{"v": 1, "content": []any{map[string]any{"type": "resource", "resource": map[string]any{"uri": "file:///" + told, "text": told}}}},
	}
}

func answerTells(ctx context.Context, l *lab) error {
	all := slices.Sorted(maps.Values(forms()))
	for i, answer := range answers("it is " + strings.Join(all, " and ")) {
		out, err := l.says(ctx, answer, keeping())
		if err != nil {
			return err
		}
		said, err := everything(&out)
		if n := strings.Count(said, redact.Mark); err == nil && n < len(all) {
			err = fmt.Errorf("only %d forms of %d were taken out", n, len(all))
		}
		if err := errors.Join(err, hidden(said)); err != nil {
			return fmt.Errorf("answer %d: %w", i+1, err)
		}
	}
	return nil
}

func linesTell(ctx context.Context, l *lab) error {
	var lines []string
	c := sandbox.Call{
		Log:      func(_ abi.Level, s string) { lines = append(lines, s) },
		Progress: func(_ int, s string) { lines = append(lines, s) },
	}
	return l.talking(ctx, func(ctx context.Context, t *talk) error {
		p := &program{}
		all := forms()
		for _, form := range all {
			at, n := p.put("it is " + form)
			p.do(callLog, lit(int(abi.LevelInfo)), at, n)
		}
		at, n := p.put("it is " + token)
		p.do(callProgress, lit(500), at, n)
		_, err := t.do(ctx, p, c)
		if len(lines) != len(all)+1 {
			err = errors.Join(err, fmt.Errorf("%d lines were heard of %d", len(lines), len(all)+1))
		}
		for _, line := range lines {
			err = errors.Join(err, hidden(line))
		}
		return err
	}, keeping())
}

func outputTells(ctx context.Context, l *lab) error {
	var lines []string
	p := &program{}
	for _, out := range []int{1, 2} {
		p.write(lit(out), "it is "+token+"\n")
		p.write(lit(out), "it is "+token[:9])
		p.write(lit(out), token[9:]+"\n")
	}
	_, err := l.perform(ctx, p, sandbox.Call{Log: func(_ abi.Level, s string) { lines = append(lines, s) }}, keeping())
	if len(lines) != 4 {
		err = errors.Join(err, fmt.Errorf("%d lines were heard of 4", len(lines)))
	}
	for _, line := range lines {
		err = errors.Join(err, hidden(line))
	}
	return err
}

func traceTells(ctx context.Context, l *lab) error {
	return l.talking(ctx, func(ctx context.Context, t *talk) error {
		rec := &sandbox.Trace{}
		p := &program{}
		p.set("it is "+token, "")
		p.text(callStateGet, token)
		for _, address := range []string{"https://other.invalid/" + url.PathEscape(token), "https://other.invalid/?" + url.QueryEscape(token)} {
			req, err := json.Marshal(get(address))
			if err != nil {
				return err
			}
			p.text(callHTTP, string(req))
		}
		if _, err := t.do(ctx, p, sandbox.Call{Trace: rec}); err != nil {
			return err
		}
		if len(rec.Calls) < p.count {
			return fmt.Errorf("%d calls were traced of %d", len(rec.Calls), p.count)
		}
		return hidden(fmt.Sprintf("%+v", rec.Calls))
	}, keeping())
}

// keptManifest has an API key, and a secret by its name.
const keptManifest = `version: 1
model: {name: m, base_url: "http://127.0.0.1:1", api_key: "${KEY}"}
tools:
  - name: tool
    module: tool.wasm
    allow: {http: [{host: example.com}]}
    secrets:
      - {env: TOKEN, host: example.com, header: X-Api-Key}
`

func printedManifest(_ context.Context, l *lab) error {
	values := map[string]string{"KEY": token, tokenName: token}
	getenv := func(name string) (string, bool) { v, ok := values[name]; return v, ok }
	m, err := manifest.Parse([]byte(keptManifest), filepath.Join(l.dir, "wagent.yaml"), getenv)
	if err != nil {
		return err
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	printed := string(b) + fmt.Sprintf("%v %+v %#v %x %q", m, *m, *m, m.Model, m.Model.APIKey)
	if string(m.Model.APIKey) != token {
		return errors.New("the key was not read")
	}
	return hidden(printed)
}

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
