package main

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/wagent-dev/wagent/host/selftest"
	"github.com/wagent-dev/wagent/host/visible"
)

// selftestSchema is the version of the JSON form.
const selftestSchema = 1

func newSelftest(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "selftest", Short: "Attack this build with its own hostile guests", Args: noArgs,
		Long: `Attack this build, on this machine, with hostile guests that it carries. There is
a line for each check: its id, what was tried, what held it off, how long that
took, and the most memory that a guest of it had. The exit status is 1 when one
was not held off. Servers are on loopback, files in a temporary folder.

An id begins with what is attacked:

  CPU  time and stack           NET  requests and addresses
  MEM  memory and sizes         SEC  secrets
  MOD  modules as files         KV   stores
  ISO  other calls and tools    LOG  what a log shows
  FS   files and folders        TXT  what a terminal shows
  BUD  the number of calls

The checks with the number 0, such as FS-0, do what is granted: that has to work,
or the attacks would show nothing. With --isolation process every guest runs in a
process of its own, as those of modules with isolation: process do.`,
	}
	f := addFormat(cmd, "text", "json", "junit")
	isolation := cmd.Flags().String("isolation", "inprocess", "where the guests run: inprocess or process")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch *isolation {
		case "inprocess", "process":
		default:
			return fmt.Errorf("--isolation %q: there are inprocess and process", *isolation)
		}
		apart, class := "", "wagent.selftest"
		if *isolation == "process" {
			apart, class = " (isolation: process)", class+".process"
		}
		var v checkView
		switch f.value {
		case "json":
			v = &jsonChecks{Schema: selftestSchema, Isolation: *isolation, Checks: []selftest.Result{}}
		case "junit":
			v = &junitChecks{Name: "wagent selftest" + apart, Class: class}
		default:
			v = &textChecks{mark: a.outStyle(), guests: apart}
		}
		return a.selftest(cmd.Context(), v, &selftest.Options{Isolated: *isolation == "process"})
	}
	return cmd
}

// checkView prints checks: each when it has been made, or all at the end.
type checkView interface {
	one(w io.Writer, r *selftest.Result) error
	all(w io.Writer) error
}

func (a *app) selftest(ctx context.Context, v checkView, o *selftest.Options) error {
	broken := 0
	for r, err := range selftest.Run(ctx, o) {
		if err != nil {
			if interrupted(ctx) {
				return err
			}
			return failed(err)
		}
		if r.Failed() {
			broken++
		}
		if err := v.one(a.out, &r); err != nil {
			return err
		}
	}
	if err := v.all(a.out); err != nil {
		return err
	}
	if broken > 0 {
		return failed(fmt.Errorf("%s did not hold", count(broken, "check")))
	}
	return nil
}

// textChecks writes a line for each check.
type textChecks struct {
	mark                  style
	guests                string // where they ran, if that has to be said
	held, skipped, broken int
	ms                    float64
}

// maxProblem bounds what is said of a check, in bytes.
const maxProblem = 2 << 10

func (v *textChecks) one(w io.Writer, r *selftest.Result) error {
	v.ms += r.WallMS
	mark, more := v.mark.green("✓"), ""
	switch {
	case r.Skipped != "":
		v.skipped++
		mark, more = "-", ": skipped, "+r.Skipped
	case r.Held:
		v.held++
		more = ": " + r.How
	default:
		v.broken++
		mark, more = v.mark.red("✗"), ": "+r.Problem
	}
	cost := millisText(r.WallMS)
	if r.PeakBytes > 0 {
		cost += ", " + bytesText(r.PeakBytes)
	}
	_, err := fmt.Fprintf(w, "%s %-7s %s  %s\n", mark, r.ID, visible.Line(r.What+more, maxProblem), v.mark.dim(cost))
	return err
}

func (v *textChecks) all(w io.Writer) error {
	said := count(v.held, "check") + " held"
	if v.skipped > 0 {
		said += fmt.Sprintf(", %d skipped", v.skipped)
	}
	if v.broken > 0 {
		said += fmt.Sprintf(", %d did not hold", v.broken)
	}
	_, err := fmt.Fprintf(w, "%s, in %s%s\n", said, millisText(v.ms), v.guests)
	return err
}

// jsonChecks writes one object at the end.
type jsonChecks struct {
	Schema    int               `json:"schema"`
	Checks    []selftest.Result `json:"checks"`
	Isolation string            `json:"isolation"` // of the guests: inprocess or process
}

func (v *jsonChecks) one(_ io.Writer, r *selftest.Result) error {
	v.Checks = append(v.Checks, *r)
	return nil
}

func (v *jsonChecks) all(w io.Writer) error { return writeJSON(w, v) }

// junitChecks writes what test reporters read, the form of Ant's JUnit task.
type junitChecks struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"` // seconds
	Cases    []junitCase `xml:"testcase"`

	Class string `xml:"-"` // of each case

	ms float64
}

type junitCase struct {
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"`
	Time    string     `xml:"time,attr"` // seconds
	Failure *junitNote `xml:"failure"`
	Skipped *junitNote `xml:"skipped"`
	How     string     `xml:"system-out,omitempty"`
}

type junitNote struct {
	Message string `xml:"message,attr"`
}

func (v *junitChecks) one(_ io.Writer, r *selftest.Result) error {
	c := junitCase{Name: r.ID + " " + visible.Line(r.What, maxProblem), Class: v.Class, Time: seconds(r.WallMS), How: visible.Line(r.How, maxProblem)}
	switch {
	case r.Skipped != "":
		v.Skipped++
		c.Skipped = &junitNote{visible.Line(r.Skipped, maxProblem)}
	case !r.Held:
		v.Failures++
		c.Failure = &junitNote{visible.Line(r.Problem, maxProblem)}
	}
	v.Tests++
	v.ms += r.WallMS
	v.Cases = append(v.Cases, c)
	return nil
}

func (v *junitChecks) all(w io.Writer) error {
	v.Time = seconds(v.ms)
	b, err := xml.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, b)
	return err
}

func seconds(ms float64) string { return strconv.FormatFloat(ms/1000, 'f', 6, 64) }
