package main

import (
	"errors"

	"github.com/wagent-dev/wagent/host/run"
)

// both shows a run to a program and to a person.
type both struct {
	program view
	person  view
}

func (b both) show(e run.Event) error {
	return errors.Join(b.program.show(e), b.person.show(e))
}

func (b both) broken(err error) error {
	return errors.Join(b.program.broken(err), b.person.broken(err))
}

func (b both) end() error { return errors.Join(b.person.end(), b.program.end()) }
