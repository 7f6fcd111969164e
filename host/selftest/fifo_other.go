//go:build !unix

package selftest

import "context"

func fifo(context.Context, *room) error { return skipped("this system has no FIFOs in folders") }
