package sandbox

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// turns are the names of calls in the order in which they had their turn.
type turns struct {
	mu    sync.Mutex
	names []string
}

func (o *turns) add(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.names = append(o.names, name)
}

// inLine starts calls of m that need n bytes each, one after the other; each
// says its name when it gets its turn.
func inLine(t *testing.T, q *queue, m *Module, n int64, order *turns, names ...string) {
	t.Helper()
	for _, name := range names {
		go func() {
			if err := q.enter(t.Context(), m, n); err != nil {
				t.Error(err)
			}
			order.add(name)
			q.leave(n)
		}()
		synctest.Wait()
	}
}

func TestModulesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(100)
		busy, a, b := &Module{gate: newGate()}, &Module{gate: newGate()}, &Module{gate: newGate()}
		if err := q.enter(t.Context(), busy, 60); err != nil {
			t.Fatal(err)
		}
		var order turns
		inLine(t, q, a, 60, &order, "a1", "a2", "a3")
		inLine(t, q, b, 60, &order, "b1", "b2")
		inLine(t, q, b, 10, &order, "b3") // would fit, and does not overtake
		q.leave(60)
		synctest.Wait()
		if got := strings.Join(order.names, " "); got != "a1 b1 a2 b2 a3 b3" && got != "a1 b1 a2 b2 b3 a3" {
			t.Error(got)
		}
		if q.taken != 0 || q.running != 0 || len(q.lines) != 0 {
			t.Errorf("left: %+v", q)
		}
	})
}

func TestACallThatIsTooLargeForAllRunsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(100)
		a := &Module{gate: newGate()}
		if err := q.enter(t.Context(), a, 1000); err != nil {
			t.Fatal(err)
		}
		var order turns
		inLine(t, q, a, 1, &order, "small")
		if len(order.names) != 0 {
			t.Error("a call runs beside one that takes everything")
		}
		q.leave(1000)
		synctest.Wait()
		if len(order.names) != 1 {
			t.Error("the next call does not run")
		}
	})
}

// Whoever stops waiting leaves no trace, and those behind move up.
func TestWaitingCallsEndWithTheirContextAndTheirModule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(100)
		a, b := &Module{gate: newGate()}, &Module{gate: newGate()}
		if err := q.enter(t.Context(), a, 50); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		late, closed := make(chan error, 1), make(chan error, 1)
		go func() { late <- q.enter(ctx, a, 100) }()
		synctest.Wait()
		go func() { closed <- q.enter(t.Context(), b, 100) }()
		synctest.Wait()
		var order turns
		inLine(t, q, a, 50, &order, "a")
		if err := <-late; !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if err := b.gate.close(t.Context()); err != nil {
			t.Fatal(err)
		}
		var why *FaultError
		if err := <-closed; !errors.As(err, &why) || why.Fault != FaultCancelled {
			t.Error(err)
		}
		synctest.Wait()
		if len(order.names) != 1 {
			t.Error("a call that fits waits for those that have left")
		}
		q.leave(50)
		if q.taken != 0 || q.running != 0 || len(q.lines) != 0 {
			t.Errorf("left: %+v", q)
		}
	})
}
