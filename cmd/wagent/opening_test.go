package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTheLiveLineTellsWhichModuleIsCompiled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, tty := terminal(nil)
		scr := a.openScreen(a.out)
		scr.loading("csv_query.wasm", 1, 4)
		scr.mu.Lock() // the live line is drawn under it
		early := tty.String()
		scr.mu.Unlock()
		if early != "" {
			t.Errorf("a module that may be there at once is shown: %q", early)
		}
		time.Sleep(250 * time.Millisecond) // in the bubble's time: two redraws
		synctest.Wait()
		if !strings.HasSuffix(shown(tty), " compiling csv_query.wasm (1 of 4) 0.2s") {
			t.Errorf("the last line is %q", shown(tty))
		}
		scr.loading("\x1b[31m.wasm", 2, 4)
		time.Sleep(100 * time.Millisecond) // in the bubble's time
		synctest.Wait()
		if !strings.HasSuffix(shown(tty), ` compiling \u{1b}[31m.wasm (2 of 4) 0.3s`) {
			t.Errorf("the last line is %q", shown(tty))
		}
		scr.finish(loadTask)
		scr.close()
		scr.loading("late.wasm", 3, 4)
		scr.finish("nothing")
		if got := shown(tty); got != "" {
			t.Errorf("the screen ends as %q", got)
		}
	})
}

func TestWhatIsLeftBehindIsFreedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		freed := 0
		free := func(int) { freed++ }
		if v, err := until(ctx, func() (int, error) { return 7, nil }, free); v != 7 || err != nil || freed != 0 {
			t.Errorf("%d %v, freed %d times", v, err, freed)
		}
		go func() {
			time.Sleep(time.Second) // in the bubble's time
			cancel(errInterrupted)
		}()
		began := time.Now()
		v, err := until(ctx, func() (int, error) {
			time.Sleep(time.Minute) // in the bubble's time: it does not look at its context
			return 7, nil
		}, free)
		if v != 0 || !errors.Is(err, errInterrupted) || time.Since(began) != time.Second+grace {
			t.Errorf("%d %v after %s", v, err, time.Since(began))
		}
		time.Sleep(time.Hour) // in the bubble's time
		synctest.Wait()
		if freed != 1 {
			t.Errorf("freed %d times", freed)
		}
		began = time.Now()
		_, err = until(ctx, func() (int, error) {
			time.Sleep(grace / 2) // in the bubble's time: it puts its things away
			return 7, nil
		}, free)
		if !errors.Is(err, errInterrupted) || time.Since(began) != grace/2 || freed != 2 {
			t.Errorf("%v after %s, freed %d times", err, time.Since(began), freed)
		}
	})
}

func TestAPanicOfWhatIsWaitedForIsOurs(t *testing.T) {
	defer func() {
		if p, _ := recover().(string); !strings.HasPrefix(p, "out of cheese\n") {
			t.Errorf("it is %q", p)
		}
	}()
	_, _ = until(t.Context(), func() (int, error) { panic("out of cheese") }, func(int) {})
}

// A Go module takes seconds to compile on a first start, and the compiler does not
// look at its context.
func TestAnInterruptEndsACommandThatCompiles(t *testing.T) {
	bin, module := build(t), buildGuest(t, "./testdata/chatty")
	for name, args := range map[string][]string{
		"validate": {"validate", "-vv"},
		"run":      {"run", "-vv", "go"},
		"list":     {"tools", "list", "-vv"},
		"inspect":  {"tools", "inspect", "-vv", module},
		"call":     {"tools", "call", "-vv", module, "talk", "--allow-http", "status.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			manifest := "version: 1\nmodel: {name: scripted}\ntools: [{module: " + module + ", allow: {http: [{host: status.example.com}]}}]\n"
			if err := os.WriteFile(filepath.Join(dir, "wagent.yaml"), []byte(manifest), 0o600); err != nil {
				t.Fatal(err)
			}
			s := spawn(t, dir, nil, append([]string{bin}, args...)...)
			s.waitFor(t, "msg=loading")
			// However long a busy machine takes: it must not be as long as the compiler
			// does, which says when it is done.
			code, took := s.interrupt(t)
			if code != exitInterrupted || strings.Contains(s.stderr.String(), "msg=compiled") || s.stdout.Len() > 0 {
				t.Errorf("exit status %d after %s\n%s", code, took, s.stderr.String())
			}
			last := s.stderr.String()
			if i := strings.LastIndexByte(strings.TrimSuffix(last, "\n"), '\n'); i >= 0 {
				last = last[i+1:]
			}
			if diff := cmp.Diff("wagent: interrupted\n", last); diff != "" {
				t.Error(diff)
			}
		})
	}
}
