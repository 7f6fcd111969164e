// Package conformance runs the executed cases of two other agent loops against
// this one. It has tests alone.
//
// A case of testdata/conformance is a script, what the model says call by call,
// and what the other loop made of it. It is run with a scripted model and a
// toolbox of fake tools, and what comes of it is put into the terms of the case
// and compared. A case passes, or it is in the table of deliberate differences
// with what this loop does instead, or it waits for a feature: nothing else is
// accepted, and an entry of the table whose case passes is a failure too.
package conformance
