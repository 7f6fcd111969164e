package hostfn

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/wagent-dev/wagent/host/policy"
)

// The attack: what is mounted below a folder is reached through it.
func TestOtherFileSystemsBelowAFolderAreRefused(t *testing.T) {
	all, err := OpenFolders([]policy.Mount{{Host: "/", Guest: "/"}}, nil, plenty())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := all.Close(); err != nil {
			t.Error(err)
		}
	}()
	d := all.Mounts()[0]
	for _, name := range []string{"proc/version", "proc/self/environ", "proc", "proc/self/fd/0", "sys/kernel", "dev/null", "dev/zero"} {
		if _, err := d.OpenFile(name, os.O_RDONLY, 0); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, host := range []string{"/proc", "/proc/self", "/sys"} {
		if _, err := OpenFolders([]policy.Mount{{Host: host, Guest: "/k"}}, nil, plenty()); err == nil {
			t.Errorf("%s was granted", host)
		}
	}
}
