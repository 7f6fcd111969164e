package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wagent-dev/wagent/host/manifest"
)

// callFlags are the flags of tools call: grants and limits as a manifest has
// them.
type callFlags struct {
	args    string
	http    []string
	read    []string
	write   []string
	env     []string
	config  []string
	trace   bool
	suggest bool
	memory  manifest.Size
	output  manifest.Size
	fuel    manifest.Fuel
	timeout time.Duration
	private bool
	kv      bool
	tool    manifest.Tool
	format  *format
}

// sizeFlag is a flag with a size as the manifest writes it.
type sizeFlag struct{ *manifest.Size }

func (s sizeFlag) Type() string { return "size" }

func (s sizeFlag) Set(text string) error {
	v, err := manifest.ParseSize(text)
	*s.Size = v
	return err
}

func (s sizeFlag) String() string {
	if s.Size == nil || *s.Size == 0 {
		return ""
	}
	return s.Size.String()
}

// fuelFlag is a flag with an amount of work as the manifest writes it.
type fuelFlag struct{ *manifest.Fuel }

func (fuelFlag) Type() string { return "fuel" }

func (f fuelFlag) Set(text string) error { return f.UnmarshalText([]byte(text)) }

func (f fuelFlag) String() string {
	if f.Fuel == nil || *f.Fuel == 0 {
		return ""
	}
	return f.Fuel.String()
}

// timeFlag is a flag with a time as the manifest writes it.
type timeFlag struct{ *time.Duration }

func (timeFlag) Type() string { return "duration" }

func (f timeFlag) Set(text string) error {
	d, err := manifest.ParseDuration(text)
	*f.Duration = time.Duration(d)
	return err
}

func (f timeFlag) String() string {
	if f.Duration == nil || *f.Duration == 0 {
		return ""
	}
	return f.Duration.String()
}

// entry is the manifest entry that the flags stand for.
func (f *callFlags) entry(module string) (*manifest.Tool, error) {
	t := f.tool
	var err error
	if t.Module, err = filepath.Abs(module); err != nil {
		return nil, err
	}
	t.Limits = manifest.Limits{Memory: f.memory, Output: f.output, Timeout: manifest.Duration(f.timeout), Fuel: f.fuel}
	t.Allow.PrivateNetworks = f.private
	t.Allow.KV = f.kv
	t.Allow.HTTP = httpRules(f.http)
	if t.Allow.Read, err = folderFlags("--read", f.read); err != nil {
		return nil, err
	}
	if t.Allow.Write, err = folderFlags("--write", f.write); err != nil {
		return nil, err
	}
	if t.Allow.Env, err = pairFlags("--env", f.env, "="); err != nil {
		return nil, err
	}
	config, err := pairFlags("--config", f.config, "=")
	for k, v := range config {
		if t.Config == nil {
			t.Config = make(map[string]any)
		}
		t.Config[k] = scalar(v)
	}
	return &t, err
}

// httpRules reads the values of --allow-http. Those that differ in their path alone
// are one rule: a path with two slashes in a row is granted by one that has both its
// spellings.
func httpRules(given []string) []manifest.HTTPRule {
	var out []manifest.HTTPRule
	for _, g := range given {
		r := httpRule(g)
		i := slices.IndexFunc(out, func(o manifest.HTTPRule) bool {
			return o.Host == r.Host && slices.Equal(o.Methods, r.Methods) && len(o.Paths) > 0 && len(r.Paths) > 0
		})
		if i < 0 {
			out = append(out, r)
			continue
		}
		out[i].Paths = append(out[i].Paths, r.Paths...)
	}
	return out
}

// httpRule reads [METHOD,METHOD ][http://]HOST[:PORT][/PATH].
func httpRule(given string) manifest.HTTPRule {
	r := manifest.HTTPRule{Host: given}
	if methods, host, ok := strings.Cut(given, " "); ok && !strings.Contains(methods, "/") {
		r = manifest.HTTPRule{Host: strings.TrimSpace(host), Methods: strings.Split(methods, ",")}
	}
	from := 0
	if i := strings.Index(r.Host, "://"); i >= 0 {
		from = i + len("://")
	}
	if i := strings.IndexByte(r.Host[from:], '/'); i >= 0 {
		r.Host, r.Paths = r.Host[:from+i], []string{r.Host[from+i:]}
	}
	return r
}

// scalar reads a number, true, false, null or a string in quotes as JSON; all else
// is a string as it is.
func scalar(given string) any {
	dec := json.NewDecoder(strings.NewReader(given))
	dec.UseNumber()
	var v any
	if !json.Valid([]byte(given)) || dec.Decode(&v) != nil {
		return given
	}
	switch v.(type) {
	case map[string]any, []any:
		return given
	}
	return v
}

func folderFlags(flag string, given []string) (map[string]string, error) {
	out, err := pairFlags(flag, given, ":")
	if err != nil {
		return nil, err
	}
	abs := make(map[string]string, len(out))
	for host, guest := range out {
		path, err := filepath.Abs(host)
		if err != nil {
			return nil, err
		}
		abs[path] = guest
	}
	return abs, nil
}

func pairFlags(flag string, given []string, sep string) (map[string]string, error) {
	if len(given) == 0 {
		return nil, nil
	}
	out := make(map[string]string, len(given))
	for _, g := range given {
		i := strings.LastIndex(g, sep)
		if sep == "=" {
			i = strings.Index(g, sep)
		}
		if i <= 0 {
			return nil, fmt.Errorf("%s %q: want two parts with %q between", flag, g, sep)
		}
		out[g[:i]] = g[i+1:]
	}
	return out, nil
}
