package selftest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/visible"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// sameAnswer is how a tool shows that it has kept nothing.
const sameAnswer = "each call was answered as the first"

func isolationChecks() []check {
	noState := func(s *sandbox.Source) { s.Policy.Grants.State = nil }
	return []check{
		{"ISO-1a", "a tool that counts its calls in its memory", sameAnswer, sameTwice("counter", sandbox.Call{Tool: "counter"})},
		{"ISO-1b", "an Extism plugin that counts its calls in all that it can keep", sameAnswer, sameTwice("extism-state", sandbox.Call{}, plain("count"))},
		{"ISO-1c", "a module that uses a store, without a grant", whenLoaded, refused(embedded("needkv"), sandbox.LoadGrant, "allow: {kv: true}")},
		{"ISO-1d", "calling the functions of a store, without a grant", "each call refused", talking(deniedStore, late)},
		{"ISO-1e", "a module that reads the state of the run, without a grant", whenLoaded, refused(embedded("calls", open, noState), sandbox.LoadGrant, "state_get")},
		{"ISO-1f", "keys of the state of the run, of which one was granted", "only that one could be read", talking(stateKeys)},
		{"ISO-2a", "a module that imports from another module", whenLoaded, refused(importingOther, sandbox.LoadImport, "done")},
		{"ISO-2b", "what another tool has stored in the same run", "it is not there", talking(otherTools)},
		{"ISO-2c", "what the tool has stored in another run", "it is not there", talking(otherRuns)},
		{"ISO-4a", "looking at the environment of the host", "it is empty", environment},
		{"ISO-4b", "looking at the environment of the host, while a secret is in it", "it is empty", plantedEnvironment},
		{"ISO-4c", "looking at the arguments of the host", "there are none of them", arguments},
		{"ISO-5", "random bytes in two calls", "they differ", randomTwice},
	}
}

// importingOther is a module that imports from the harmless one, which is loaded.
func importingOther() (sandbox.Source, error) {
	src, err := guest("needhttp")
	src.Wasm = bytes.Replace(src.Wasm, []byte(sized("wagent")), []byte(sized("done.w")), 1)
	src.Name = "importer"
	return src, err
}

// sameTwice makes a call twice, and the answers may not differ.
func sameTwice(module string, c sandbox.Call, change ...func(*sandbox.Source)) func(context.Context, *lab) error {
	return func(ctx context.Context, l *lab) error {
		m, err := l.load(ctx, module, change...)
		if err != nil {
			return err
		}
		var first string
		for i := range 3 {
			out := l.ask(ctx, m, c)
			switch said := text(&out); {
			case out.Fault != "":
				return errors.Join(ended(&out, nil), m.Close(ctx))
			case i == 0:
				first = said
			case said != first:
				return errors.Join(fmt.Errorf("its answers are %q and %q", first, said), m.Close(ctx))
			}
		}
		return m.Close(ctx)
	}
}

func environment(ctx context.Context, l *lab) error {
	p := &program{showAt: wordsAt, show: 8}
	p.do(environSizesGet, address(wordsAt), address(wordsAt+4))
	d, err := l.perform(ctx, p, sandbox.Call{})
	if err != nil {
		return err
	}
	if d.last() != 0 || strings.Trim(string(d.shown), "\x00") != "" {
		return fmt.Errorf("the guest sees an environment: error %d, sizes %x", d.last(), d.shown)
	}
	return nil
}

func plantedEnvironment(ctx context.Context, l *lab) error {
	back, err := setenv("WAGENT_SELFTEST_SECRET", canary)
	if err != nil {
		return err
	}
	return errors.Join(environment(ctx, l), back())
}

// arguments may be none, or a name that says nothing of the host.
func arguments(ctx context.Context, l *lab) error {
	p := &program{showAt: wordsAt, show: 8}
	p.do(argsSizesGet, address(wordsAt), address(wordsAt+4))
	d, err := l.perform(ctx, p, sandbox.Call{})
	if err != nil {
		return err
	}
	if d.last() != 0 || d.shown[0] > 1 || d.shown[4] > 64 {
		return fmt.Errorf("the guest sees arguments: error %d, sizes %x", d.last(), d.shown)
	}
	return nil
}

func randomTwice(ctx context.Context, l *lab) error {
	var seen []string
	for range 2 {
		p := &program{showAt: dataAt, show: 16}
		p.put(strings.Repeat("\x00", 16))
		p.do(randomGet, address(dataAt), lit(16))
		d, err := l.perform(ctx, p, sandbox.Call{})
		if err != nil {
			return err
		}
		seen = append(seen, string(d.shown))
	}
	if seen[0] == seen[1] || seen[0] == strings.Repeat("\x00", 16) {
		return fmt.Errorf("two calls were given %x and %x", seen[0], seen[1])
	}
	return nil
}

func textChecks() []check {
	return []check{
		{"LOG-1", "two MB of log lines", "cut off at the limit of logs, and the receipt says so", logFlood},
		{"LOG-2", "a log line with control characters that forges another line", "shown as one line without them", logInjection},
		{"TXT-1a", "an answer with control characters for the terminal", "written out, as people are shown it", escapes},
		{"TXT-1b", "a crash whose message has control characters", "reported without them", crash},
		{"TXT-5", "every byte there is, on standard error", "shown as text without control characters", everyByte},
		{"BUD-1a", "calls of a function of the host without end", "stopped at the limit of calls", ends("hostflood", sandbox.Call{}, []sandbox.Fault{sandbox.FaultHostCalls})},
		{"BUD-1b", "reading the clock without end", "stopped at the limit of calls or of time", clockFlood},
	}
}

func logFlood(ctx context.Context, l *lab) error {
	src, err := guest("logflood")
	if err != nil {
		return err
	}
	heard := 0
	out, err := l.call(ctx, src, sandbox.Call{Log: func(_ abi.Level, s string) { heard += len(s) }})
	if err != nil {
		return err
	}
	limit := int(src.Policy.Limits.Logs)
	if heard > limit+1024 || out.Receipt.LogBytes > int64(limit) || !out.Receipt.LogsCut {
		return fmt.Errorf("%d bytes were logged, %d by the receipt, cut %t; the limit is %d", heard, out.Receipt.LogBytes, out.Receipt.LogsCut, limit)
	}
	return ended(&out, []sandbox.Fault{""})
}

// heard lets a guest write to standard error, and returns the lines that the host
// was given.
func (l *lab) heard(ctx context.Context, s string) ([]string, error) {
	p := &program{}
	p.write(lit(2), s)
	var lines []string
	_, err := l.perform(ctx, p, sandbox.Call{Log: func(_ abi.Level, s string) { lines = append(lines, s) }})
	return lines, err
}

func logInjection(ctx context.Context, l *lab) error {
	lines, err := l.heard(ctx, "ok\r\x1b]0;title\x07\x1b[2J\u202e\u200b\x9b31m{\"level\":\"error\"}\n")
	if err == nil && len(lines) != 1 {
		err = fmt.Errorf("it became %d lines", len(lines))
	}
	if err != nil {
		return err
	}
	return harmless(lines...)
}

func everyByte(ctx context.Context, l *lab) error {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	lines, err := l.heard(ctx, string(all)+"\n")
	if err != nil {
		return err
	}
	return harmless(lines...)
}

func escapes(ctx context.Context, l *lab) error {
	out, err := l.says(ctx, map[string]any{"v": 1, "content": []map[string]string{{"type": "text", "text": "ok \x1b]52;c;aGk=\x07\u202e\u200b\u009b31m\U000e0041"}}})
	if err != nil {
		return err
	}
	shown := visible.Text(text(&out))
	if !strings.Contains(shown, "52;c;aGk=") {
		return fmt.Errorf("the answer was lost: %q", shown)
	}
	return harmless(shown)
}

func crash(ctx context.Context, l *lab) error {
	src, err := guest("trap")
	if err != nil {
		return err
	}
	out, err := l.call(ctx, src, sandbox.Call{})
	if err == nil && !strings.Contains(out.Detail, "cheese") {
		err = fmt.Errorf("the message was lost: %q", out.Detail)
	}
	return errors.Join(err, ended(&out, []sandbox.Fault{sandbox.FaultTrap}), harmless(text(&out), out.Detail))
}

// harmless says that no line holds what a terminal or a reader could take for
// something else: controls, directions, what cannot be seen.
func harmless(lines ...string) error {
	if len(lines) == 0 {
		return errors.New("nothing was heard")
	}
	for _, s := range lines {
		if s == "" {
			return errors.New("a line was lost")
		}
		for _, r := range s {
			switch {
			case r == '\n' || r == '\t':
			case r < ' ', r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200b, r >= 0xe0000 && r <= 0xe007f, r == 0xfffd:
				if r != 0xfffd { // which stands for a byte that is no text
					return fmt.Errorf("%q holds %U", s, r)
				}
			}
		}
	}
	return nil
}

func clockFlood(ctx context.Context, l *lab) error {
	p := &program{rounds: 50_000_000}
	p.do(clockTimeGet, lit(0), lit(0), address(wordsAt))
	args, err := p.arguments()
	if err != nil {
		return err
	}
	return ends("steps", sandbox.Call{Arguments: args}, []sandbox.Fault{sandbox.FaultHostCalls, sandbox.FaultTimeout}, within(short))(ctx, l)
}

// scratch is a folder of the check, and one beside it with a file that no guest
// may see.
func (l *lab) scratch() (inside, secret string, err error) {
	root, err := os.MkdirTemp(l.dir, "")
	if err != nil {
		return "", "", err
	}
	inside, outside := filepath.Join(root, "inside"), filepath.Join(root, "outside")
	secret = filepath.Join(outside, "secret")
	err = errors.Join(os.Mkdir(inside, 0o700), os.Mkdir(outside, 0o700))
	if err == nil {
		err = errors.Join(os.WriteFile(secret, []byte(canary), 0o600), os.WriteFile(filepath.Join(inside, "plain"), []byte("plain text"), 0o600))
	}
	return inside, secret, err
}

const canary = "CANARY-4f1c9a"
