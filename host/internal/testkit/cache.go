package testkit

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// Cache is a folder for the compiled guests of all tests of a binary, made when
// it is first asked for. The zero Cache is ready to use; a package holds one and
// calls Main.
type Cache struct {
	once sync.Once
	dir  string
	err  error
}

// Dir returns the folder.
func (c *Cache) Dir(t testing.TB) string {
	t.Helper()
	c.once.Do(func() { c.dir, c.err = os.MkdirTemp("", "wagent-test-") })
	if c.err != nil {
		t.Fatal(c.err)
	}
	return c.dir
}

// Main runs the tests, fails when goroutines are left, removes the folder and
// ends the process.
func (c *Cache) Main(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(c.dir); c.dir != "" && err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		os.Exit(code)
	}))
}
