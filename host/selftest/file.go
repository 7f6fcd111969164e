package selftest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/policy"
)

// What held off attacks on files.
const (
	notOpened = "not opened"
	atQuota   = "refused at the quota"
)

func fileChecks() []check {
	return []check{
		{"FS-0", "reading a file in a granted folder, to show that the attacks would work", "it was read", inFolder(reads("plain", "plain text"))},
		{"FS-1a", "opening a file, without a grant", "there is no folder", noFolder},
		{"FS-1b", "the path ../outside/secret from a granted folder", notOpened, inFolder(denied("../outside/secret"))},
		{"FS-1c", "the path x/../../outside/secret", notOpened, inFolder(denied("x/../../outside/secret"))},
		{"FS-1d", "an absolute path to a file outside of the folder", notOpened, inFolder(absolute)},
		{"FS-1e", `the path ..\outside\secret`, notOpened, inFolder(denied(`..\outside\secret`))},
		{"FS-1f", "a file's name with a NUL behind it", notOpened, inFolder(denied("plain\x00.txt"))},
		{"FS-1g", "a name of 64 KiB", notOpened, inFolder(denied(strings.Repeat("x", 64<<10)))},
		{"FS-2", "making a link out of the folder, and reading through it", "not made, and nothing read", inWritable(ownLink)},
		{"FS-3a", "a link out of the folder that was there before", "not followed", inFolder(foreignLink("../outside/secret", "link"))},
		{"FS-3b", "a link to the root of the file system that was there before", "not followed", inFolder(foreignLink("/", "link/etc/passwd"))},
		{"FS-4", "making a hard link to a file outside, and to one inside", "not made", inWritable(hardLink)},
		{"FS-5", "opening a FIFO, which could block for ever", notOpened, inFolder(fifo)},
		{"FS-6a", "writing to files in a folder that was granted to read", "refused, and the file is as it was", inFolder(writesReadOnly)},
		{"FS-6b", "making, renaming and removing in a folder that was granted to read", "refused", inFolder(changesReadOnly)},
		{"FS-7a", "writing more bytes than the quota", atQuota, inWritable(fills)},
		{"FS-7b", "a file with a hole of a TiB", atQuota, inWritable(hole)},
		{"FS-7c", "making more files than the quota", atQuota, inWritable(manyFiles)},
		{"FS-8a", "opening more files at once than the quota", atQuota, inFolder(manyOpen)},
		{"FS-8b", "asking for the largest file descriptor there is", "refused", ends("renumber", sandbox.Call{}, []sandbox.Fault{""})},
		{"FS-10", "reading standard input of the host", "it is empty", noInput},
	}
}

// room is the folder of a check.
type room struct {
	*lab
	inside, secret string
	grant          func(*sandbox.Source)
}

func inFolder(do func(context.Context, *room) error) func(context.Context, *lab) error {
	return in(do, func(g *policy.Grants, m policy.Mount) { g.Read = []policy.Mount{m} })
}

func inWritable(do func(context.Context, *room) error) func(context.Context, *lab) error {
	return in(do, func(g *policy.Grants, m policy.Mount) { g.Write = []policy.Mount{m} })
}

// in makes a folder, and looks afterwards whether the file beside it is as it was.
func in(do func(context.Context, *room) error, grant func(*policy.Grants, policy.Mount)) func(context.Context, *lab) error {
	return func(ctx context.Context, l *lab) error {
		inside, secret, err := l.scratch()
		if err != nil {
			return err
		}
		r := &room{l, inside, secret, func(s *sandbox.Source) {
			grant(&s.Policy.Grants, policy.Mount{Host: inside, Guest: "/data"})
			s.Policy.Limits.Files = policy.FileLimits{Bytes: policy.MiB, Count: 20, Open: 16}
		}}
		if err := do(ctx, r); err != nil {
			return err
		}
		now, err := os.ReadFile(secret)
		if err == nil && string(now) != canary {
			err = errors.New("the file outside was written")
		}
		return err
	}
}

// do performs the steps with the folder.
func (r *room) do(ctx context.Context, p *program) (done, error) {
	d, err := r.perform(ctx, p, sandbox.Call{}, r.grant)
	if err == nil && bytes.Contains(d.shown, []byte(canary)) {
		err = errors.New("the guest read the file outside")
	}
	return d, err
}

func reads(path, want string) func(context.Context, *room) error {
	return func(ctx context.Context, r *room) error {
		p := &program{}
		p.read(wordAt(p.open(path)), uint32(len(want)))
		d, err := r.do(ctx, p)
		if err == nil && string(d.shown) != want {
			err = fmt.Errorf("errors %v, read %q", d.errnos, d.shown)
		}
		return err
	}
}

// denied says that the path cannot be opened.
func denied(path string) func(context.Context, *room) error {
	return func(ctx context.Context, r *room) error {
		p := &program{}
		p.read(wordAt(p.open(path)), 64)
		d, err := r.do(ctx, p)
		if err == nil && d.errnos[0] == 0 {
			err = errors.New("it was opened")
		}
		return err
	}
}

func absolute(ctx context.Context, r *room) error { return denied(r.secret)(ctx, r) }

func noFolder(ctx context.Context, l *lab) error {
	p := &program{}
	p.do(fdPrestatGet, lit(firstFolder), address(p.word()))
	p.open("etc/passwd")
	d, err := l.perform(ctx, p, sandbox.Call{})
	if err == nil && (d.errnos[0] != errnoBadf || d.errnos[1] != errnoBadf) {
		err = fmt.Errorf("the errors are %v", d.errnos)
	}
	return err
}

func ownLink(ctx context.Context, r *room) error {
	p := &program{}
	target, n := p.put("../outside/secret")
	name, m := p.put("mine")
	p.do(pathSymlink, target, n, lit(firstFolder), name, m)
	p.read(wordAt(p.open("mine")), 64)
	d, err := r.do(ctx, p)
	if err == nil && (d.errnos[0] == 0 || d.errnos[1] == 0) {
		err = fmt.Errorf("the errors are %v", d.errnos)
	}
	return err
}

func foreignLink(target, path string) func(context.Context, *room) error {
	return func(ctx context.Context, r *room) error {
		if err := os.Symlink(target, filepath.Join(r.inside, "link")); err != nil {
			return skipped("no link can be made here: " + err.Error())
		}
		return denied(path)(ctx, r)
	}
}

func hardLink(ctx context.Context, r *room) error {
	p := &program{}
	from, n := p.put("../outside/secret")
	to, m := p.put("mine")
	p.do(pathLink, lit(firstFolder), lit(0), from, n, lit(firstFolder), to, m)
	from, n = p.put("plain")
	p.do(pathLink, lit(firstFolder), lit(0), from, n, lit(firstFolder), to, m)
	return r.allRefused(ctx, p)
}

// allRefused says that no step succeeded.
func (r *room) allRefused(ctx context.Context, p *program) error {
	d, err := r.do(ctx, p)
	if err != nil {
		return err
	}
	for i, e := range d.errnos {
		if e == 0 {
			return fmt.Errorf("step %d succeeded, of %v", i+1, d.errnos)
		}
	}
	return nil
}

func writesReadOnly(ctx context.Context, r *room) error {
	p := &program{}
	p.create("new")
	p.openWith("plain", truncateFile, rightsAll)
	p.write(wordAt(p.openWith("plain", 0, rightsAll)), "changed")
	d, err := r.do(ctx, p)
	if err != nil {
		return err
	}
	now, err := os.ReadFile(filepath.Join(r.inside, "plain"))
	if err != nil {
		return err
	}
	if d.errnos[0] == 0 || d.errnos[1] == 0 || d.last() == 0 || string(now) != "plain text" {
		return fmt.Errorf("the errors are %v, and the file holds %q", d.errnos, now)
	}
	return nil
}

func changesReadOnly(ctx context.Context, r *room) error {
	p := &program{}
	plain, n := p.put("plain")
	other, m := p.put("other")
	p.do(pathMkdir, lit(firstFolder), other, m)
	p.do(pathRename, lit(firstFolder), plain, n, lit(firstFolder), other, m)
	p.do(pathUnlink, lit(firstFolder), plain, n)
	return r.allRefused(ctx, p)
}

// size is how many bytes the files of a folder have.
func size(dir string) (bytes int64, files int, err error) {
	all, err := os.ReadDir(dir)
	for _, f := range all {
		info, infoErr := f.Info()
		if infoErr != nil {
			return 0, 0, infoErr
		}
		bytes += info.Size()
	}
	return bytes, len(all), err
}

func fills(ctx context.Context, r *room) error {
	p := &program{}
	fd := p.create("big")
	at, n := p.put(strings.Repeat("x", 64<<10))
	from := p.iovec(uint32(at.value), uint32(n.value))
	for range 20 {
		p.do(fdWrite, wordAt(fd), from, lit(1), address(p.word()))
	}
	return r.bounded(ctx, p)
}

func hole(ctx context.Context, r *room) error {
	p := &program{}
	fd := p.create("big")
	p.do(fdSizeSet, wordAt(fd), lit(1<<40))
	p.do(fdAllocate, wordAt(fd), lit(0), lit(1<<40))
	p.do(fdSeek, wordAt(fd), lit(1<<40), lit(0), address(p.word()))
	p.write(wordAt(fd), "x")
	return r.bounded(ctx, p)
}

func manyFiles(ctx context.Context, r *room) error {
	p := &program{}
	for i := range 100 {
		fd := p.create(fmt.Sprint("file", i))
		p.do(fdClose, wordAt(fd))
	}
	return r.bounded(ctx, p)
}

// bounded says that the quotas of the folder held, and that something was refused.
func (r *room) bounded(ctx context.Context, p *program) error {
	d, err := r.do(ctx, p)
	if err != nil {
		return err
	}
	bytes, files, err := size(r.inside)
	if err != nil {
		return err
	}
	refusals := 0
	for _, e := range d.errnos {
		if e != 0 {
			refusals++
		}
	}
	if bytes > policy.MiB+1024 || files > 21 || refusals == 0 {
		return fmt.Errorf("%d bytes in %d files, after %d refusals", bytes, files, refusals)
	}
	return nil
}

func manyOpen(ctx context.Context, r *room) error {
	p := &program{}
	for range 50 {
		p.open("plain")
	}
	d, err := r.do(ctx, p)
	if err != nil {
		return err
	}
	opened := 0
	for _, e := range d.errnos {
		if e == 0 {
			opened++
		}
	}
	if opened == 0 || opened > 16 {
		return fmt.Errorf("%d files could be open at once, and 16 may", opened)
	}
	return nil
}

func noInput(ctx context.Context, l *lab) error {
	p := &program{}
	p.read(lit(0), 64)
	d, err := l.perform(ctx, p, sandbox.Call{})
	if err == nil && strings.Trim(string(d.shown), "\x00") != "" {
		err = fmt.Errorf("the guest read %q", d.shown)
	}
	return err
}
