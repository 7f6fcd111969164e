package manifest

import (
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

// WithDefaults returns a copy in which every field that has a default and is
// zero has it. The copy shares the tools, whose defaults are in [Tool.Policy].
func (m *Manifest) WithDefaults() *Manifest {
	d := *m
	d.Version = or(d.Version, 1)
	d.Model = d.Model.withDefaults()
	a := &d.Agent
	a.Planner = or(a.Planner, "tools")
	a.EarlyStopping = or(a.EarlyStopping, "force")
	a.ParallelToolCalls = or(a.ParallelToolCalls, 4)
	a.OnToolError = or(a.OnToolError, "feedback")
	if a.OnParseError.IsZero() {
		a.OnParseError.Word = "feedback"
	}
	if a.ReturnSteps == nil {
		a.ReturnSteps = new(true)
	}
	if a.MaxSteps == nil {
		a.MaxSteps = new(15)
	}
	if a.TrimSteps == nil {
		a.TrimSteps = new(0)
	}
	if a.MaxRepeatedCalls == nil {
		a.MaxRepeatedCalls = new(0)
	}
	if a.ToolSearchOver == nil {
		a.ToolSearchOver = new(0)
	}
	if a.Output != nil {
		o := *a.Output
		o.Strategy, o.Attempts = or(o.Strategy, "auto"), or(o.Attempts, 3)
		a.Output = &o
	}
	if a.ExitConditions == nil {
		a.ExitConditions = []string{"text"}
	}
	return &d
}

func (l Model) withDefaults() Model {
	l.Provider = or(l.Provider, "openai")
	l.BaseURL = or(l.BaseURL, defaultBaseURL)
	l.Timeout = or(l.Timeout, Duration(2*time.Minute))
	l.Retry.Attempts = or(l.Retry.Attempts, 4)
	l.Retry.Initial = or(l.Retry.Initial, Duration(500*time.Millisecond))
	l.Retry.Max = or(l.Retry.Max, max(l.Retry.Initial, Duration(30*time.Second)))
	if l.Stream == nil {
		l.Stream = new(true)
	}
	return l
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// Policy returns what the module may use: the defaults, with what the entry
// says instead of them. The error is an [*Error], at the entry's place where it
// came from a file.
func (t *Tool) Policy() (policy.Policy, error) {
	p := policy.Default()
	p.Limits = t.Limits.over(p.Limits)
	g, problem := t.Allow.grants()
	if problem != nil {
		problem.field = within(t.field, problem.field)
		problem.position = t.origin.near(problem.field)
		return policy.Policy{}, problem.in(t.origin.file())
	}
	p.Grants = g
	if p.Grants.Secrets, problem = t.secrets(); problem != nil {
		problem.field = within(t.field, problem.field)
		problem.position = t.origin.near(problem.field)
		return policy.Policy{}, problem.in(t.origin.file())
	}
	p.Grants.State = sortedKeys(t.InputsFromState)
	return p, nil
}

// over returns the limits of p, with those that l gives instead.
func (l Limits) over(p policy.Limits) policy.Limits {
	p.Memory = or(int64(l.Memory), p.Memory)
	p.Timeout = or(time.Duration(l.Timeout), p.Timeout)
	p.Fuel = or(int64(l.Fuel), p.Fuel)
	p.Output = or(int64(l.Output), p.Output)
	p.Logs = or(int64(l.Logs), p.Logs)
	p.HTTPResponse = or(int64(l.HTTPResponse), p.HTTPResponse)
	p.HTTPRequests = or(l.HTTPRequests, p.HTTPRequests)
	p.KV = or(int64(l.KV), p.KV)
	p.Files.Bytes = or(int64(l.Files.Bytes), p.Files.Bytes)
	p.Files.Count = or(l.Files.Count, p.Files.Count)
	p.Files.Open = or(l.Files.Open, p.Files.Open)
	return p
}
