package hostfn

import (
	"os"
	"syscall"
)

// device is the serial number of a volume.
type device struct{ number uint32 }

func (d device) same(o device) bool { return d == o }

func (d device) pseudo() bool { return false }

func deviceOf(f *os.File) (device, error) {
	info, err := byHandle(f)
	return device{number: info.VolumeSerialNumber}, err
}

// identity tells a file from all others that there are.
type identity struct{ volume, high, low uint32 }

// identityOf also returns how many names the file has.
func identityOf(f *os.File) (id identity, links uint64, err error) {
	info, err := byHandle(f)
	return identity{info.VolumeSerialNumber, info.FileIndexHigh, info.FileIndexLow}, uint64(info.NumberOfLinks), err
}

func byHandle(f *os.File) (info syscall.ByHandleFileInformation, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return info, err
	}
	var inner error
	if err := conn.Control(func(fd uintptr) {
		inner = syscall.GetFileInformationByHandle(syscall.Handle(fd), &info)
	}); err != nil {
		return info, err
	}
	return info, inner
}
