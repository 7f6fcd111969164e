//go:build !unix

package testkit

import (
	"testing"
	"time"
)

var began = time.Now()

// CPU returns how long this process has run, by the clock: no call of all other
// systems tells more.
func CPU(testing.TB) time.Duration { return time.Since(began) }
