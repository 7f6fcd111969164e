//go:build race

package sandbox

// slowness is how much longer a compiler takes that looks for races in itself.
const slowness = 8
