//go:build linux && !amd64 && !arm64

package confine

func auditArch() (uint32, bool) { return 0, false }

func foreignCalls() uint32 { return 0 }

func olderCalls() []uint32 { return nil }
