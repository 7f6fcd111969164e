//go:build e2e

package wasmbin_test

// everyWay runs the suite with every engine and all options.
const everyWay = true
