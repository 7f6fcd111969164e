// Package hostfn is the host side of each capability that a guest can be
// granted, without an engine: HTTP, folders, log lines, time and random bytes.
// Whoever links these to a guest passes on what they say and adds no decision.
//
// Everything here takes its input from code that wants out. Nothing panics on
// it, blocks past the context, or repeats it raw in an error or a log.
package hostfn
