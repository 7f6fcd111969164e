package selftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/redact"
	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// A guest that came by a secret passes it on.

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
