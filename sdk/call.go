package sdk

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"reflect"
	"time"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// Call is one call of a tool. It belongs to the tool until the tool returns and
// may be used from several goroutines.
type Call struct {
	ID       string     // of this call, as in the host's log
	Tool     string     // the name it was called by
	Run      abi.RunRef // the run it is part of; zero outside of one
	Deadline time.Time  // when the host stops the call; zero if it did not say

	config json.RawMessage
	host   host // how the host is reached; empty in a module
}

// Config decodes what the manifest has under config for this module into the
// struct that into points to, by the rules of [Tags]. Its error is of kind
// internal, since it is not the model that can mend it.
func (c *Call) Config(into any) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("config: want a pointer to a struct, not %T", into)
	}
	s, err := argumentShape(v.Type().Elem())
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	if err := decode(c.config, s, v.Elem(), config); err != nil {
		return Errorf(abi.Internal, "%w", err)
	}
	return nil
}

// Debugf logs what helps the author of the tool.
func (c *Call) Debugf(format string, args ...any) { c.logf(abi.LevelDebug, format, args) }

// Infof logs what the tool did.
func (c *Call) Infof(format string, args ...any) { c.logf(abi.LevelInfo, format, args) }

// Warnf logs what is not as it should be.
func (c *Call) Warnf(format string, args ...any) { c.logf(abi.LevelWarn, format, args) }

// Errorf logs what went wrong. It does not end the call; see the function
// [Errorf] for that.
func (c *Call) Errorf(format string, args ...any) { c.logf(abi.LevelError, format, args) }

// logf logs one line. The host bounds how much of it is kept.
func (c *Call) logf(level abi.Level, format string, args []any) {
	hostLog(c, level, fmt.Sprintf(format, args...))
}

// Progress tells the person who waits that done of total is finished. The model
// does not see it. A total of zero or less says that something is being done,
// and not how far it is.
func (c *Call) Progress(done, total int, message string) {
	permille := 0
	if total > 0 {
		hi, lo := bits.Mul64(uint64(min(max(done, 0), total)), 1000)
		q, _ := bits.Div64(hi, lo, uint64(total))
		permille = int(q)
	}
	hostProgress(c, permille, message)
}
