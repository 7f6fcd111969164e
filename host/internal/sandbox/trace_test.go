package sandbox

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
	"github.com/wagent-dev/wagent/host/internal/redact"
	"github.com/wagent-dev/wagent/host/policy"
)

// lines is a trace without its times, and without what a language does at its start.
func lines(t *Trace, of ...string) []string {
	var out []string
	for _, c := range t.Calls {
		if len(of) > 0 && !slices.Contains(of, c.Function) {
			continue
		}
		decision := "allowed"
		if c.Denied {
			decision = "denied"
		}
		out = append(out, strings.Join([]string{c.Door, c.Function, c.About, decision, c.Why, c.Result}, "|"))
	}
	return out
}

// A small program of the system interface: every call of it, in order.
func TestTraceHasEveryCallInOrder(t *testing.T) {
	e := newEngine(t)
	m := load(t, e, source(t, "asks"), func(s *Source) { s.Policy.Grants.Env = map[string]string{"A": "b"} })
	rec := &Trace{Probe: true}
	out := m.Call(t.Context(), Call{Tool: "read", Trace: rec})
	if !out.Result.IsError {
		t.Fatalf("%+v", out)
	}
	want := []string{
		"wasi|args_get||allowed||ok",
		"wasi|fd_prestat_get|/|allowed||ok",
		"wasi|fd_prestat_dir_name|/|allowed||ok",
		"wasi|fd_prestat_get|descriptor 4|allowed||EBADF",
		"wasi|path_open|/work/sub/in.txt|denied|no grant covers it: allow.read|ENOTCAPABLE",
		"wasi|proc_exit|code 1|allowed||ended",
	}
	if diff := cmp.Diff(want, lines(rec)); diff != "" {
		t.Error(diff)
	}
	rec = &Trace{}
	m.Call(t.Context(), Call{Tool: "env", Trace: rec})
	if diff := cmp.Diff([]string{"wasi|environ_sizes_get|1 variables|allowed|allow.env|ok"}, lines(rec, "environ_sizes_get")); diff != "" || !rec.Environ {
		t.Error(diff, rec.Environ)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m = load(t, e, source(t, "asks"), func(s *Source) { s.Policy.Grants.Clock = policy.Clock{Fixed: at} })
	rec = &Trace{}
	m.Call(t.Context(), Call{Tool: "clock", Trace: rec})
	if diff := cmp.Diff([]string{"wasi|clock_time_get|real time|allowed|allow.clock fixed:2026-01-01T00:00:00Z|ok"}, lines(rec, "clock_time_get")); diff != "" {
		t.Error(diff)
	}
}

// Without the folder of Probe a guest sees what it sees untraced.
func TestTraceAloneChangesNothingForTheGuest(t *testing.T) {
	m := load(t, newEngine(t), source(t, "asks"))
	rec := &Trace{}
	traced := m.Call(t.Context(), Call{Tool: "read", Trace: rec})
	plain := m.Call(t.Context(), Call{Tool: "read"})
	if diff := cmp.Diff(said(plain), said(traced)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"wasi|fd_prestat_get|descriptor 3|allowed||EBADF"}, lines(rec, "fd_prestat_get")); diff != "" {
		t.Error(diff)
	}
	if len(rec.Needs) != 0 {
		t.Errorf("it needs %v", rec.Needs)
	}
}

// Each door of a real guest: HTTP of the wagent module, files, and what a rule,
// a folder or a limit decided.
func TestTraceSaysWhichGrantDecided(t *testing.T) {
	base, grant := site(t)
	_, files := folders(t)
	m := load(t, newEngine(t), guestSource(t), files, grant)
	call := func(tool, arg string) *Trace {
		rec := &Trace{}
		m.Call(t.Context(), Call{Tool: tool, Arguments: []byte(`"` + arg + `"`), Trace: rec})
		return rec
	}
	rule := m.src.Policy.Grants.HTTP[0].String()
	for _, tc := range []struct {
		tool, arg, function string
		want                []string
	}{
		{"fetch", base + "/hello?token=a", "http", []string{"wagent|http|GET " + base + "/hello?…|allowed|allow.http " + rule + "|status 200, 5 bytes"}},
		{"fetch", "http://example.com/a", "http", []string{"wagent|http|GET http://example.com/a|denied|no grant covers it: allow.http|denied"}},
		{"read", "/docs/a.txt", "path_open", []string{"wasi|path_open|/docs/a.txt|allowed|allow.read /docs|ok"}},
		{"write", "/docs/new.txt", "path_open", []string{"wasi|path_open|/docs/new.txt|denied|no grant covers it: allow.write|EROFS"}},
		{"write", "/out/new.txt", "path_open", []string{"wasi|path_open|/out/new.txt|allowed|allow.write /out|ok"}},
	} {
		rec := call(tc.tool, tc.arg)
		if diff := cmp.Diff(tc.want, lines(rec, tc.function)); diff != "" {
			t.Errorf("%s %s: %s", tc.tool, tc.arg, diff)
		}
	}
	// What a language does at its start is part of a traced call.
	if got := lines(call("read", "/docs/a.txt"), "environ_sizes_get"); len(got) == 0 {
		t.Error("the start of the guest is not in the trace")
	}
}

// A guest without a grant is told that there is none, whatever it asks for: so no
// trace says that the host let it pass, and none that nothing was lacking.
func TestTraceOfWhatIsNoRequestSaysThatItWasDenied(t *testing.T) {
	m := load(t, newEngine(t), guestSource(t), func(s *Source) { s.Inspect = true })
	rec := &Trace{}
	m.Call(t.Context(), Call{Tool: "fetch", Arguments: []byte(`"http://example.com/a%2Fb"`), Trace: rec})
	if diff := cmp.Diff([]string{"wagent|http|GET http://example.com/a%2Fb|denied|no grant covers it|denied"}, lines(rec, "http")); diff != "" {
		t.Error(diff)
	}
	if len(rec.Needs) != 1 || !strings.Contains(rec.Needs[0].Never, "no grant would let it pass") {
		t.Errorf("%+v", rec.Needs)
	}
}

func TestTraceOfAPluginHasItsRequestsAndValues(t *testing.T) {
	m := load(t, newEngine(t), source(t, "extism-asks"), func(s *Source) { s.Export, s.Inspect = "value", true })
	rec := &Trace{}
	m.Call(t.Context(), Call{Tool: "value", Trace: rec})
	if diff := cmp.Diff([]string{"extism|config_get|greeting|denied|there is no such value: config|not there"}, lines(rec)); diff != "" {
		t.Error(diff)
	}
	if rec.Kernel == 0 || len(rec.Needs) != 1 || rec.Needs[0].Config != "greeting" {
		t.Errorf("%d %+v", rec.Kernel, rec.Needs)
	}
	m = load(t, newEngine(t), source(t, "extism-asks"), func(s *Source) { s.Export, s.Inspect = "request", true })
	rec = &Trace{}
	m.Call(t.Context(), Call{Tool: "request", Arguments: []byte(`{"url":"https://example.com/a%2Fb"}`), Trace: rec})
	if len(rec.Calls) != 1 || rec.Calls[0].Why != "" || len(rec.Needs) != 0 { // it is no request
		t.Errorf("%+v %+v", rec.Calls, rec.Needs)
	}
	rec = &Trace{}
	m.Call(t.Context(), Call{Tool: "request", Arguments: []byte(`{"url":"https://example.com/a","method":"put"}`), Trace: rec})
	want := hostfn.HTTPNeed{Rule: policy.HTTPRule{Scheme: "https", Host: "example.com", Port: 443, Methods: []string{"PUT"}, Paths: []string{"/a"}}}
	if len(rec.Needs) != 1 || rec.Needs[0].HTTP == nil {
		t.Fatalf("%+v", rec.Needs)
	}
	if diff := cmp.Diff(want, *rec.Needs[0].HTTP); diff != "" {
		t.Error(diff)
	}
}

// A guest that calls 10,000 times, each time with 4,000 bytes of escapes for a
// name, fills neither the host's memory nor anybody's screen.
func TestThreat11TraceOfAFloodIsBoundedAndClean(t *testing.T) {
	l := newLab(t)
	src := source(t, "asks")
	src.Policy.Limits.Timeout = endless // it ends by itself, and a busy machine under -race takes its time
	var rec *Trace
	l.suffers(t, attack{what: "names", src: src, want: well, says: "code 1", on: func(m *Module) Outcome {
		rec = &Trace{Probe: true}
		return m.Call(t.Context(), Call{Tool: "flood", Trace: rec})
	}})
	total := 0
	for _, c := range rec.Calls {
		total += len(c.About) + len(c.Why) + len(c.Result)
		if len(c.About) > maxAbout || strings.ContainsAny(c.About, "\x1b\n") {
			t.Fatalf("%q", c.About)
		}
	}
	const made = 10_002 // args_get, the opens and proc_exit
	if len(rec.Calls) > maxTraced || len(rec.Calls)+rec.Dropped != made || total > maxTracedBytes+1024 {
		t.Errorf("%d calls and %d dropped, %d bytes", len(rec.Calls), rec.Dropped, total)
	}
	if len(rec.Needs) > maxNeeds {
		t.Errorf("%d needs", len(rec.Needs))
	}
}

func TestLateModuleIsRefusedAtTheCall(t *testing.T) {
	e := newEngine(t)
	if _, err := e.Load(t.Context(), source(t, "needhttp")); err == nil {
		t.Fatal("it was loaded")
	}
	m := load(t, e, source(t, "needhttp"), func(s *Source) { s.Late = true })
	if out := m.Call(t.Context(), Call{Tool: "needhttp"}); said(out) != "done" { // it breaks off unless it was denied
		t.Errorf("%q %s", out.Fault, said(out))
	}
}

// What a door costs with and without a trace. Unwatched and bare should not differ.
func BenchmarkDoor(b *testing.B) {
	g := &guest{limits: policy.Default().Limits}
	s := &system{guest: g, clock: hostfn.NewClock(policy.Clock{})}
	i := slices.IndexFunc(wasiFuncs(), func(f wasiFunc) bool { return f.name == "clock_res_get" })
	f := wasiFuncs()[i]
	args := []uint64{7, 0} // a clock that there is not
	full := &Trace{Calls: make([]HostCall, maxTraced)}
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f.do(s, guestMemory{}, args)
		}
	})
	b.Run("unwatched", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			(*Trace)(nil).system(f, s, guestMemory{}, args)
		}
	})
	b.Run("full", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			full.system(f, s, guestMemory{}, args)
		}
	})
}

// SEC-2, for a trace.
func TestSEC2NoTraceHasASecret(t *testing.T) {
	m := load(t, newEngine(t), source(t, "asks"), func(s *Source) { s.Redact = redact.New("work/sub/in.txt") })
	rec := &Trace{Probe: true}
	m.Call(t.Context(), Call{Tool: "read", Trace: rec})
	if diff := cmp.Diff([]string{"wasi|path_open|/[redacted]|denied|no grant covers it: allow.read|ENOTCAPABLE"}, lines(rec, "path_open")); diff != "" {
		t.Error(diff)
	}
}
