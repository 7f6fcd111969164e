//go:build !linux

package main

import "os"

// lost says that nobody can read what is written to f, where that can be known.
func lost(*os.File) bool { return false }
