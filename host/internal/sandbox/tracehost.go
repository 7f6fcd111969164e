package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// host does a call of the wagent module and records it, if there is a trace.
func (t *Trace) host(f hostFunc, g *guest, mem api.Memory, args []uint64) int64 {
	if t == nil {
		return f.do(g, mem, args)
	}
	about, req := hostSubject(f.name, mem, args)
	t.http = nil
	start := time.Now()
	res := f.do(g, mem, args)
	c := HostCall{Door: abi.Module, Function: f.name, About: about, Result: hostResult(f, res), Duration: time.Since(start)}
	v := hostVerdict(f.name, res)
	if f.name == abi.ImportHTTP && req != nil {
		v = t.httpVerdict(g, req.Method, req.URL)
		if res == int64(abi.ErrDenied) && !v.denied { // without a grant no request is looked at
			v = never("no grant covers it", "the URL or the method of a request is none, and no grant would let it pass")
		}
		c.Result = t.httpResult(c.Result)
		if v.denied {
			c.Result = "denied"
		}
	}
	t.add(c, v)
	return res
}

// hostSubject says what a call is about, and returns the request of one for HTTP.
func hostSubject(name string, mem api.Memory, args []uint64) (string, *abi.HTTPRequest) {
	switch name {
	case abi.ImportLog:
		return levelText(nearestLevel(int32(uint32(args[0])))), nil
	case abi.ImportProgress:
		return fmt.Sprintf("%d per mille", int32(uint32(args[0]))), nil
	case abi.ImportRead:
		return fmt.Sprintf("handle %d", int32(uint32(args[0]))), nil
	case abi.ImportHTTP:
		raw, _ := text(mem, args[0], args[1], maxHTTPRequest)
		req := new(abi.HTTPRequest)
		if json.Unmarshal(raw, req) != nil {
			return "", nil
		}
		return httpSubject(req.Method, req.URL), req
	}
	key, _ := text(mem, args[0], min(uint64(uint32(args[1])), 4*maxAbout), 4*maxAbout)
	return string(key), nil
}

func levelText(l abi.Level) string {
	return [...]string{"debug", "info", "warn", "error"}[l-abi.LevelDebug]
}

// httpSubject is "METHOD URL". What comes after a question mark may be a secret
// of the guest, and decides nothing.
func httpSubject(method, url string) string {
	if method == "" {
		method = "GET"
	}
	url, query, asked := strings.Cut(url, "?")
	if asked && query != "" {
		url += "?…"
	}
	return strings.ToUpper(oneLine(method, 32)) + " " + url
}

// httpResult is how the request ended.
func (t *Trace) httpResult(without string) string {
	switch {
	case t.http == nil:
		return without
	case t.http.Code != "":
		return t.http.Code
	}
	return fmt.Sprintf("status %d, %d bytes", t.http.Status, t.http.Bytes)
}

// httpVerdict says which rule let a request pass, or what would.
func (t *Trace) httpVerdict(g *guest, method, url string) verdict {
	rule, need := hostfn.RuleOf(g.grants.HTTP, method, url)
	switch {
	case t.http != nil && t.http.Code == "too_many":
		return never("limits.http_requests", "the requests of a call are limited: limits.http_requests")
	case t.http != nil && t.http.Need != nil:
		need = t.http.Need // it may be that of a redirect
	case need == nil && rule.Host == "":
		return verdict{} // no request at all
	case need == nil:
		return verdict{why: "allow.http " + rule.String()}
	}
	v := verdict{denied: true, why: "no grant covers it: allow.http", need: Need{HTTP: need}}
	switch {
	case need.Never != "":
		v.why = need.Never
	case need.Covered:
		v.why = "the address is private: allow.private_networks"
	}
	return v
}

func never(why, reason string) verdict {
	return verdict{denied: true, why: why, need: Need{Never: reason}}
}

// hostResult is the number that the guest is given, in words.
func hostResult(f hostFunc, res int64) string {
	switch {
	case len(f.results) == 0:
		return "ok"
	case res < 0:
		return abi.Errno(res).Error()
	case f.results[0] == i64:
		return fmt.Sprintf("%d bytes", uint32(res))
	}
	return strconv.FormatInt(res, 10)
}

func hostVerdict(name string, res int64) verdict {
	if res != int64(abi.ErrDenied) {
		return verdict{}
	}
	switch name {
	case abi.ImportKVGet, abi.ImportKVSet, abi.ImportKVDelete, abi.ImportKVList:
		return verdict{denied: true, why: "no grant covers it: allow.kv", need: Need{Store: true}}
	case abi.ImportStateGet:
		return never("inputs_from_state", "a key of the run's state is granted by inputs_from_state, and a call outside of a run has none")
	}
	return verdict{denied: true, why: "no grant covers it"}
}

// extism does a call of a plugin and records it, if there is a trace. Functions
// that only move the plugin's own bytes are counted.
func (t *Trace) extism(f *extismFunc, s *extismState, v []uint64) error {
	if t == nil {
		return f.do(s, v)
	}
	if f.uncounted {
		t.Kernel++
		return f.do(s, v)
	}
	about, req := s.subject(f.name, v)
	t.http = nil
	start := time.Now()
	err := f.do(s, v)
	c := HostCall{Door: "extism", Function: f.name, About: about, Result: "ok", Duration: time.Since(start)}
	var why verdict
	switch {
	case f.name == "http_request" && req != nil:
		why = t.httpVerdict(s.guest, req.Method, req.URL)
		c.Result = t.httpResult(c.Result)
		if why.denied {
			c.Result = "denied"
		}
	case err != nil:
		c.Result = extismFailure(err)
	case f.name == "config_get" && about != "":
		if _, ok := s.config[about]; ok {
			why.why = "config"
		} else {
			c.Result = "not there"
			why = verdict{denied: true, why: "there is no such value: config", need: Need{Config: about}}
		}
	}
	t.add(c, why)
	return err
}

func extismFailure(err error) string {
	var known *FaultError
	var said *pluginError
	switch {
	case errors.As(err, &known):
		return string(known.Fault)
	case errors.As(err, &said):
		return "failed"
	}
	return "ended the plugin"
}

// subject says what a call of a plugin is about.
func (s *extismState) subject(name string, v []uint64) (string, *extismRequest) {
	switch name {
	case "http_request":
		raw, _ := s.bytes(v[0])
		req := new(extismRequest)
		if len(raw) > maxHTTPRequest || json.Unmarshal(raw, req) != nil {
			return "", nil
		}
		req.Method = strings.ToUpper(req.Method)
		return httpSubject(req.Method, req.URL), req
	case "config_get", "var_get", "var_set":
		key, _ := s.bytes(v[0])
		return string(key[:min(len(key), 4*maxAbout)]), nil
	}
	return "", nil
}
