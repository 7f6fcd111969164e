package main

import (
	"fmt"
	"strings"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/visible"
)

// traceText lists what a call asked of the host, in order. Calls that follow one
// another and differ in their time alone are one line.
func traceText(t *host.Trace, st style) string {
	var b strings.Builder
	fmt.Fprintln(&b, st.bold("trace")+" "+count(len(t.Calls)+t.Dropped, "host call"))
	for i := 0; i < len(t.Calls); {
		c := t.Calls[i]
		n := 1
		for i+n < len(t.Calls) && alike(c, t.Calls[i+n]) {
			c.WallMS += t.Calls[i+n].WallMS
			n++
		}
		i += n
		fmt.Fprintln(&b, "  "+hostCallText(&c, n, st))
	}
	if t.Dropped > 0 {
		fmt.Fprintf(&b, "  and %d more that are not listed\n", t.Dropped)
	}
	if t.Kernel > 0 {
		fmt.Fprintf(&b, "  and %d by which the plugin moved its own bytes\n", t.Kernel)
	}
	return b.String()
}

func alike(a, b host.HostCall) bool {
	a.WallMS, b.WallMS = 0, 0
	return a == b
}

func hostCallText(c *host.HostCall, times int, st style) string {
	decision := c.Decision
	if c.Denied() {
		decision = st.yellow(decision)
	}
	if c.Why != "" {
		decision += " (" + visible.Line(c.Why, maxReason) + ")"
	}
	what := c.Door + " " + c.Function
	if c.About != "" {
		what += " " + visible.Line(c.About, maxReason)
	}
	if times > 1 {
		what += fmt.Sprintf(" ×%d", times)
	}
	took := millisText(c.WallMS)
	if c.WallMS < 1 {
		took = fmt.Sprintf("%.0f µs", c.WallMS*1000)
	}
	return fmt.Sprintf("%s, %s: %s, %s", st.dim(took), what, decision, visible.Line(c.Result, maxReason))
}
