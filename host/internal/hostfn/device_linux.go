package hostfn

// Attack: what is mounted below a folder (another disk, proc, sys) is reached
// through a name that stays inside it.

import (
	"os"
	"syscall"
)

// device says which file system a file is on. On overlay file systems the
// number alone differs between a directory and the files in it.
type device struct {
	number uint64
	kind   uint32
	id     syscall.Fsid
}

func (d device) same(o device) bool {
	return d.number == o.number || d.kind == o.kind && d.id == o.id && d.id != syscall.Fsid{}
}

// pseudo reports whether the file system is a view of the kernel: proc, sysfs,
// devpts, cgroup and cgroup2, debugfs, tracefs, securityfs, selinuxfs, bpf,
// configfs, efivarfs, pstore, mqueue, nsfs, binfmt_misc, fusectl.
func (d device) pseudo() bool {
	switch d.kind {
	case 0x9fa0, 0x62656572, 0x1cd1, 0x27e0eb, 0x63677270, 0x64626720, 0x74726163, 0x73636673,
		0xf97cff8c, 0xcafe4a11, 0x62656570, 0xde5e81e4, 0x6165676c, 0x19800202, 0x6e736673,
		0x42494e4d, 0x65735543:
		return true
	}
	return false
}

func deviceOf(f *os.File) (device, error) {
	var st syscall.Stat_t
	var fs syscall.Statfs_t
	err := control(f, func(fd int) error {
		if err := syscall.Fstat(fd, &st); err != nil {
			return err
		}
		return syscall.Fstatfs(fd, &fs)
	})
	return device{number: uint64(st.Dev), kind: uint32(fs.Type), id: fs.Fsid}, err
}
