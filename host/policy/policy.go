// Package policy holds what a module may use, as plain values: how much of the
// machine ([Limits]) and which doors of the host ([Grants]). What is not
// granted is denied, and [Policy.Narrow] only ever takes away.
//
//	p := policy.Default()
//	p.Grants.HTTP = []policy.HTTPRule{{Scheme: "https", Host: "api.github.com", Methods: []string{"GET"}}}
//	p = p.Narrow(ceiling)
package policy

import "time"

// Sizes in bytes.
const (
	KiB int64 = 1 << 10
	MiB int64 = 1 << 20
	GiB int64 = 1 << 30
)

// Policy is what one module may use. It is a value: copies share no state that
// is ever written.
type Policy struct {
	Limits Limits
	Grants Grants
}

// Limits bound one call, but for KV, which bounds a run. A zero field is not "no limit" but nothing at all, save
// for Fuel; start from [Default].
type Limits struct {
	Memory       int64         // bytes of linear memory, for all memories of the instance
	Timeout      time.Duration // wall clock for the call, initialisation included
	Fuel         int64         // work, in units that are the same on every machine; 0: no limit but the time
	Input        int64         // bytes of the request
	Output       int64         // bytes of the result
	Logs         int64         // bytes of stdout, stderr and log lines together; more is cut
	HTTPResponse int64         // bytes of one response, headers included, after decompression
	HTTPRequests int           // requests of one call, redirects included
	KV           int64         // bytes of all keys and values that a tool has stored in a run
	Files        FileLimits
}

// FileLimits bound what one call does with the folders it was granted. What it
// made and removed again does not count, once it is closed as well.
type FileLimits struct {
	Bytes int64 // written
	Count int   // files and folders made
	Open  int   // open at once
}

// Grants are the doors that are open. The zero Grants opens none.
type Grants struct {
	HTTP            []HTTPRule
	PrivateNetworks bool    // loopback, link-local and private addresses may be reached, where a rule names them
	Read            []Mount // folders to read
	Write           []Mount // folders to read and write
	Env             map[string]string
	KV              bool     // a store for the run
	State           []string // keys of the run's state to read
	Secrets         []Secret // what the host adds to requests; names, not values
	Clock           Clock
	Random          Random
}

// HTTPRule allows requests to one host.
type HTTPRule struct {
	Scheme  string   // https or http
	Host    string   // lower case; a leading "*." stands for exactly one label
	Port    int      // 1 to 65535
	Methods []string // upper case; empty: GET and HEAD
	Paths   []string // patterns; "*" stops at "/", "**" does not; empty: every path

	// Within are more sets of patterns; a path must match one of each as well.
	// Narrow makes them, where two lists of patterns overlap in a way that no
	// one list can say.
	Within [][]string
}

// Mount makes a folder of the host visible to the guest.
type Mount struct {
	Host  string // a path of the host
	Guest string // absolute, slash-separated, cleaned
}

// Clock is the time that a guest sees. The zero Clock is the real one.
type Clock struct {
	Fixed  time.Time // if not zero, the time never moves
	Coarse bool      // the time moves in steps of a millisecond
}

// Random is where a guest's random bytes come from. The zero Random is the
// system's cryptographic source.
type Random struct {
	Seeded bool
	Seed   uint64
}

// Default returns the limits that hold where nothing is said, and no grants.
func Default() Policy {
	return Policy{Limits: Limits{
		Memory:       64 * MiB,
		Timeout:      5 * time.Second,
		Input:        4 * MiB,
		Output:       1 * MiB,
		Logs:         64 * KiB,
		HTTPResponse: 4 * MiB,
		HTTPRequests: 20,
		KV:           1 * MiB,
		Files:        FileLimits{Bytes: 64 * MiB, Count: 1000, Open: 64},
	}}
}
