//go:build !linux

package sandbox

// machineMemory is how much memory this process may use: not known here.
func machineMemory() int64 { return 0 }
