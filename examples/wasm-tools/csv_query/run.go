package main

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"strconv"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

const (
	// every is how many rows lie between two reports of progress.
	every = 50_000
	// pause is how many rows lie between two turns of the garbage collector. A
	// module has one thread, which nothing takes from a loop that does not wait:
	// without this the heap grows to many times of what is in use.
	pause = 256
)

// sink takes the rows that were not filtered out.
type sink interface {
	take(row []string) error
	// result returns the rows from offset on, at most limit, and how many there
	// are in all.
	result() (rows [][]string, all int)
}

// run reads the table to its end and returns the result.
func (q *query) run(c *sdk.Call, t *table) (Result, error) {
	res := Result{Columns: q.columns}
	out := q.sink()
	if only := q.reads(len(t.columns)); slices.Contains(only, false) {
		t.rows.only = only
	}
	for {
		row, err := t.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Result{}, err
		}
		if res.Read++; res.Read%every == 0 {
			c.Progress(0, 0, strconv.Itoa(res.Read)+" rows read")
		}
		if res.Read%pause == 0 {
			runtime.Gosched()
		}
		if !q.meets(row) {
			continue
		}
		res.Matched++
		if err := out.take(row); err != nil {
			return Result{}, err
		}
	}
	rows, all := out.result()
	res.Rows = fitting(q.columns, rows)
	if len(res.Rows) == 0 && len(rows) > 0 || width(q.columns) > maxAnswer {
		return Result{}, sdk.Errorf(abi.Input, "a row of the result is longer than %d KiB: select fewer columns", maxAnswer>>10)
	}
	res.Left = max(0, all-q.args.Offset-len(res.Rows))
	res.Irregular = t.irregular
	return res, nil
}

// meets says that a row passes all filters.
func (q *query) meets(row []string) bool {
	for i := range q.filters {
		if !q.filters[i].meets(row) {
			return false
		}
	}
	return true
}

func (q *query) sink() sink {
	switch {
	case len(q.totals) > 0:
		return &groups{query: q, budget: budget{left: maxHeld}, of: map[string]*group{}}
	case len(q.orders) > 0:
		return &sorted{query: q, budget: budget{left: maxHeld}}
	default:
		return &window{query: q, budget: budget{left: maxHeld}}
	}
}

// maxHeld is about how many bytes are held at once. The collector lets the heap
// grow to more than twice that, and 64 MiB is what a tool has by default.
const maxHeld = 20 << 20

// What things take besides their bytes, with what slices and maps keep in
// reserve and what allocations are rounded up to.
const (
	costText  = 16
	costRow   = 160
	costEntry = 64 // of a map
	costSort  = 64
)

// budget is how much more may be held.
type budget struct{ left int }

func (b *budget) spend(n int) error {
	if b.left -= n; b.left < 0 {
		return sdk.Errorf(abi.Input, "the query needs to hold too much in memory: use where, select fewer columns, group by fewer columns or take fewer medians and distinct counts")
	}
	return nil
}
