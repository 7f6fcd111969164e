//go:build unix

package hostfn

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// FS-3: names that change between check and use, ten thousand times: a file, a
// link to a file outside, a directory, a link to the directory outside.
func TestSwappedLinksNeverLeadOut(t *testing.T) {
	lim := plenty()
	lim.Count, lim.Bytes = 1<<30, 1<<40
	j := openJail(t, lim)
	in := func(name string) string { return filepath.Join(j.inside, name) }
	write(t, in("good"), "hello")
	link(t, "../out/secret", in("bad"))
	if err := os.Mkdir(in("gooddir"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, in("gooddir/secret"), "hello")
	link(t, "../out", in("baddir"))

	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			// A link to a link, exchanged in one step.
			swap(t, in("file"), []string{"good", "bad"}[i%2])
			swap(t, in("dir"), []string{"gooddir", "baddir"}[i%2])
		}
	})
	opened := 0
	for i := range 10_000 {
		name := []string{"file", "dir/secret"}[i%2]
		if f, err := j.ro.OpenFile(name, os.O_RDONLY, 0); err == nil {
			opened++
			b, err := io.ReadAll(f)
			if err == nil && strings.Contains(string(b), canary) {
				t.Error("read the file outside")
			}
			_ = f.Close()
		}
		if f, err := j.rw.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644); err == nil {
			_, _ = f.Write([]byte("overwritten"))
			_ = f.Close()
		}
		if i%10 == 0 {
			_ = j.rw.Remove("dir/new")
			_ = j.rw.Rename("good", "dir/new")
			_ = j.rw.Rename("dir/new", "good")
			_ = j.rw.Mkdir("dir/made", 0o755)
			_ = j.rw.Rmdir("dir/made")
		}
	}
	close(stop)
	swapper.Wait()
	if opened == 0 {
		t.Error("the race was never won by an honest open: it shows nothing")
	}
}

func swap(t *testing.T, path, target string) {
	tmp := path + ".tmp"
	if err := os.Symlink(target, tmp); err != nil {
		t.Error(err)
	}
	if err := os.Rename(tmp, path); err != nil {
		t.Error(err)
	}
}
