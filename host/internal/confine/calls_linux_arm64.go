package confine

import "golang.org/x/sys/unix"

func auditArch() (uint32, bool) { return unix.AUDIT_ARCH_AARCH64, true }

// foreignCalls: there are no numbers of another ABI.
func foreignCalls() uint32 { return 0 }

func olderCalls() []uint32 { return nil }
