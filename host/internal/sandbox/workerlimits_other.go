//go:build !linux

package sandbox

import "github.com/wagent-dev/wagent/host/internal/confine"

// bound gives a worker limits of the system: here it has none. Its parent bounds
// its time, and it looks after its memory itself.
func bound(order) {}

// enclose takes from a worker what it does not need: here nothing can be.
func enclose() error { return confine.ErrUnsupported }

func encloseGuests() error { return confine.ErrUnsupported }

func boundGuests(*loadOrder) {}
