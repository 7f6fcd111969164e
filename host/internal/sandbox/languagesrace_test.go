//go:build race

package sandbox

// languages are those of testdata/languages but Go.
var languages = []string{"c", "rust", "assemblyscript", "zig"}
