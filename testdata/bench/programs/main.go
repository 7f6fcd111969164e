//go:build wasip1

// Programs by which the cost of rewriting a guest is measured. Each returns
// something that depends on all of its work.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"math/rand/v2"
	"slices"
)

func main() {}

// sha hashes n MiB.
//
//go:wasmexport sha
func sha(n int32) int32 {
	b := make([]byte, 1<<20)
	for range n {
		sum := sha256.Sum256(b)
		b[0] = sum[0]
	}
	return int32(b[0])
}

// sort sorts n numbers.
//
//go:wasmexport sort
func sort(n int32) int32 {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]int, n)
	for i := range x {
		x[i] = r.Int()
	}
	slices.Sort(x)
	return int32(x[n/2])
}

type record struct {
	Name   string
	Tags   []string
	Counts map[string]int
	Score  float64
}

// text writes and reads n records as JSON.
//
//go:wasmexport text
func text(n int32) int32 {
	total := 0
	for range n {
		b, err := json.Marshal(record{"some name", []string{"a", "b", "c"}, map[string]int{"x": 1, "y": 2}, 3.5})
		var back record
		if err != nil || json.Unmarshal(b, &back) != nil {
			return -1
		}
		total += len(b) + len(back.Tags)
	}
	return int32(total)
}

// loop turns n thousand times.
//
//go:wasmexport loop
func loop(n int32) int32 {
	s := int32(0)
	for i := range n * 1000 {
		s += i ^ s<<1
	}
	return s
}

//go:wasmexport fib
func fib(n int32) int32 {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}
