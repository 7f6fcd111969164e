//go:build !e2e

package wasmbin_test

const everyWay = false
