//go:build !race

package schema

const slowness = 1
