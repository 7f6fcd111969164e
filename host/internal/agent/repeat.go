package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"hash"
	"slices"

	"github.com/wagent-dev/wagent/host/run"
)

// maxCycle is the most steps that are looked at as one thing that repeats itself.
const maxCycle = 4

// print is what a step did: its calls and their results.
type print [sha256.Size]byte

// repeats is how often the last steps did the same, one after the other, up to step,
// and below 2 when they did not or nothing of that step counts. What was told of the
// steps to the model does not matter, so it holds however much was cut away since.
func (d *driver) repeats(step int) int {
	for d.printed < len(d.state.Steps) {
		end := d.printed + 1
		for end < len(d.state.Steps) && d.state.Steps[end].Number == d.state.Steps[d.printed].Number {
			end++
		}
		if p, ok := d.printOf(d.state.Steps[d.printed:end]); ok {
			d.prints, d.newest = append(d.prints, p), d.state.Steps[d.printed].Number
		}
		d.printed = end
	}
	if d.newest != step {
		return 0
	}
	return cycle(d.prints)
}

// printOf returns the print of a step. A call that is made twice in it counts once,
// and those of tools that are asked again and again by their nature do not count.
func (d *driver) printOf(step []run.Step) (print, bool) {
	var parts [][]byte
	for i := range step {
		s := &step[i]
		if t := d.tool(s.Action.Tool); s.ErrorKind == run.KindParseError || (t != nil && t.Polling) {
			continue
		}
		if p := callPrint(s); !slices.ContainsFunc(parts, func(q []byte) bool { return bytes.Equal(p, q) }) {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return print{}, false
	}
	return sha256.Sum256(bytes.Join(parts, nil)), true
}

// callPrint is the same for calls of the same tool with the same arguments, however
// they are written, that had the same result.
func callPrint(s *run.Step) []byte {
	h := sha256.New()
	sized(h, []byte(s.Action.Tool))
	sized(h, canonical(s.Action.Input))
	sized(h, []byte(s.Observation))
	for _, p := range s.Content {
		sized(h, []byte(p.MIME), p.Data, []byte(p.URL))
	}
	return h.Sum(nil)
}

// sized writes texts so that none can be taken for a part of another.
func sized(h hash.Hash, texts ...[]byte) {
	for _, t := range texts {
		n := sha256.Sum256(t)
		h.Write(n[:])
	}
}

// canonical is the arguments with their members in order, numbers as they were
// written and no space.
func canonical(args json.RawMessage) []byte {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return args
	}
	out, err := json.Marshal(v)
	if err != nil {
		return args
	}
	return out
}

// cycle is how often the end of prints holds the same steps in the same order: the
// largest number, for 1 to maxCycle steps.
func cycle(prints []print) int {
	most := 1
	for length := 1; length <= maxCycle; length++ {
		n := len(prints)
		same := 0
		for i := n - 1; i-length >= 0 && prints[i] == prints[i-length]; i-- {
			same++
		}
		most = max(most, same/length+1)
	}
	return most
}
