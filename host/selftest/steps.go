package selftest

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
)

// The guest steps calls any function of the system with any arguments. What it is
// told is built here.

// The functions, by their places in the imports of steps.wat.
const (
	argsSizesGet = iota
	environSizesGet
	environGet
	clockResGet
	clockTimeGet
	fdAllocate
	fdClose
	fdFlagsSet
	fdFilestatGet
	fdSizeSet
	fdPrestatGet
	fdPrestatName
	fdRead
	fdReaddir
	fdRenumber
	fdSeek
	fdWrite
	pathMkdir
	pathFilestatGet
	pathLink
	pathOpen
	pathReadlink
	pathRmdir
	pathRename
	pathSymlink
	pathUnlink
	pollOneoff
	randomGet
)

// Numbers of the system interface (WASI preview 1).
const (
	errnoBadf = 8

	firstFolder = 3 // the first descriptor after the standard ones

	createFile   = 1 << 0
	truncateFile = 1 << 3

	// The rights to read, and all.
	rightsRead = 1<<1 | 1<<2 | 1<<5 | 1<<14 | 1<<21
	rightsAll  = 1<<30 - 1
)

const (
	stepsAt   = 65536
	stepBytes = 80
	headBytes = 16
	// Where programs keep what they read and write: behind four hundred steps. What
	// lies between is sent to the guest too, so it is not far.
	wordsAt = 0x18000 // results: descriptors, counts
	iovecAt = 0x19000
	dataAt  = 0x1a000
)

// program is a list of steps.
type program struct {
	steps  []byte
	count  int
	data   []byte // at dataAt
	iovecs []byte // at iovecAt
	words  int    // handed out at wordsAt
	showAt uint32
	show   uint32
	rounds uint32
}

// arg is an argument: a number, or where one is.
type arg struct {
	value uint64
	at    bool
}

func lit(n int) arg        { return arg{value: uint64(n)} }
func wordAt(at uint32) arg { return arg{uint64(at), true} }
func address(n uint32) arg { return arg{value: uint64(n)} }
func (p *program) do(function int, args ...arg) {
	var b [stepBytes]byte
	mask := uint32(0)
	for i, a := range args {
		binary.LittleEndian.PutUint64(b[8+8*i:], a.value)
		if a.at {
			mask |= 1 << i
		}
	}
	binary.LittleEndian.PutUint32(b[0:], uint32(function))
	binary.LittleEndian.PutUint32(b[4:], mask)
	p.steps = append(p.steps, b[:]...)
	p.count++
}

// put places bytes in memory and returns their address and length.
func (p *program) put(s string) (at, n arg) {
	at = address(dataAt + uint32(len(p.data)))
	p.data = append(p.data, s...)
	return at, lit(len(s))
}

// word is a place for a result of four bytes, or of two such.
func (p *program) word() uint32 {
	p.words++
	return wordsAt + uint32(8*(p.words-1))
}

// iovec is a list of one buffer.
func (p *program) iovec(at, n uint32) arg {
	where := iovecAt + uint32(len(p.iovecs))
	p.iovecs = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(p.iovecs, at), n)
	return address(where)
}

// open opens a path below the folder to read, and returns where its descriptor
// will be.
func (p *program) open(path string) uint32 { return p.openWith(path, 0, rightsRead) }

// create opens a path to write.
func (p *program) create(path string) uint32 { return p.openWith(path, createFile, rightsAll) }

func (p *program) openWith(path string, flags, rights int) uint32 {
	at, n := p.put(path)
	fd := p.word()
	p.do(pathOpen, lit(firstFolder), lit(0), at, n, lit(flags), lit(rights), lit(rights), lit(0), address(fd))
	return fd
}

// read reads into a place of its own, which the answer shows.
func (p *program) read(fd arg, n uint32) {
	at, _ := p.put(strings.Repeat("\x00", int(n)))
	p.showAt, p.show = uint32(at.value), n
	p.do(fdRead, fd, p.iovec(p.showAt, n), lit(1), address(p.word()))
}

func (p *program) write(fd arg, s string) {
	at, n := p.put(s)
	p.do(fdWrite, fd, p.iovec(uint32(at.value), uint32(n.value)), lit(1), address(p.word()))
}

// arguments are what the guest is called with.
func (p *program) arguments() (json.RawMessage, error) {
	end := max(dataAt+len(p.data), iovecAt+len(p.iovecs))
	image := make([]byte, end-stepsAt)
	for i, w := range []uint32{uint32(p.count), p.showAt, p.show, max(1, p.rounds)} {
		binary.LittleEndian.PutUint32(image[4*i:], w)
	}
	if headBytes+len(p.steps) > wordsAt-stepsAt || 8*p.words > iovecAt-wordsAt || len(p.iovecs) > dataAt-iovecAt {
		return nil, errors.New("too many steps")
	}
	copy(image[headBytes:], p.steps)
	copy(image[iovecAt-stepsAt:], p.iovecs)
	copy(image[dataAt-stepsAt:], p.data)
	return json.Marshal(map[string]string{"hex": hex.EncodeToString(image)})
}

// done is what came of the steps.
type done struct {
	errnos []int
	shown  []byte
}

// perform lets the guest do the steps.
func (l *lab) perform(ctx context.Context, p *program, c sandbox.Call, change ...func(*sandbox.Source)) (done, error) {
	args, err := p.arguments()
	if err != nil {
		return done{}, err
	}
	src, err := guest("steps", change...)
	if err != nil {
		return done{}, err
	}
	c.Arguments = args
	answer, err := l.answered(ctx, src, c)
	if err != nil {
		return done{}, err
	}
	return parseDone(answer, p.count)
}

func parseDone(answer string, steps int) (done, error) {
	results, shown, _ := strings.Cut(answer, " ")
	b, err := hex.DecodeString(results)
	if err != nil || len(b) != 2*steps {
		return done{}, fmt.Errorf("the guest's answer is damaged: %.60q", answer)
	}
	var d done
	for i := range steps {
		d.errnos = append(d.errnos, int(binary.BigEndian.Uint16(b[2*i:])))
	}
	d.shown, err = hex.DecodeString(shown)
	return d, err
}

// last is the result of the last step.
func (d *done) last() int { return d.errnos[len(d.errnos)-1] }
