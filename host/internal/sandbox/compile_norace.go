//go:build !race

package sandbox

const slowness = 1
