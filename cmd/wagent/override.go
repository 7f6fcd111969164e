package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/host/manifest"
)

// override is a flag whose value stands in the place of a field of the manifest.
type override struct {
	flag, field string
	value       string
	target      *string
	empty       string // what is wrong with an empty value; "": nothing is
}

// overrides are the flags that were given, as they change m.
func (f *runFlags) overrides(given func(flag string) bool, m *manifest.Manifest) []override {
	all := []override{
		{"model", "model.name", f.model, &m.Model.Name, "the name is empty"},
		{"base-url", "model.base_url", f.baseURL, &m.Model.BaseURL, "the address is empty"},
		{"system", "agent.system_prompt", f.system, &m.Agent.SystemPrompt, ""},
		{"planner", "agent.planner", f.planner, &m.Agent.Planner, "it is one of tools, react, json"},
	}
	return slices.DeleteFunc(all, func(o override) bool { return !given(o.flag) })
}

// overridden puts the values of flags into m and checks it. What is wrong with a value
// is told of its flag: the file does not have it.
func overridden(m *manifest.Manifest, flags []override) error {
	before := *m
	for _, o := range flags {
		if o.value == "" && o.empty != "" {
			return fmt.Errorf("--%s: %s", o.flag, o.empty)
		}
		*o.target = o.value
	}
	err := m.Check()
	if err == nil || len(flags) == 0 {
		return err
	}
	known := complaints(before.Check())
	var errs []error
	for _, one := range separate(err) {
		errs = append(errs, ofFlag(one, flags, known))
	}
	return errors.Join(errs...)
}

// ofFlag tells a fault of the flag whose value it is about. One of another field that
// only the flags bring about stays at its place and names them.
func ofFlag(err error, flags []override, known []string) error {
	fault, ok := errors.AsType[*manifest.Error](err)
	if !ok {
		return err
	}
	for _, o := range flags {
		if fault.Field == o.field {
			return fmt.Errorf("--%s: %s", o.flag, fault.Message)
		}
	}
	if slices.Contains(known, err.Error()) {
		return err
	}
	names := make([]string, len(flags))
	for i, o := range flags {
		names[i] = "--" + o.flag
	}
	return fmt.Errorf("%w (with %s)", err, strings.Join(names, ", "))
}

// separate are the errors that were joined in err.
func separate(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

func complaints(err error) []string {
	if err == nil {
		return nil
	}
	var out []string
	for _, one := range separate(err) {
		out = append(out, one.Error())
	}
	return out
}
