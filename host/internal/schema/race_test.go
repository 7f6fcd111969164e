//go:build race

package schema

// Pools forget what they hold under the detector, so that each match of a regular
// expression makes its machine anew: 900 patterns on 900 names allocate 6 GB.
const slowness = 40
