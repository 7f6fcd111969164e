package sandbox

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/tetratelabs/wazero/experimental"
)

// Attack: a plugin passes any number as an offset, writes over what the
// allocator keeps, or has the host hold more for it than its limit.
//
// This is the memory that a plugin shares with its host. Offsets, lengths and
// what is reused when are those of Extism's kernel, so that a plugin sees the
// same numbers; but what the kernel writes between the blocks is kept outside
// of the memory here, where no plugin can change it. Those bytes are free.

const (
	// extismKernel is the memory that every plugin has from the beginning.
	extismKernel = 16 * pageSize
	kernelRoot   = 64 // bytes that the kernel takes at the beginning
	kernelBlocks = kernelRoot + 1
	blockHeader  = 12
	blockRest    = 128 // a free block is split if that much is left of it
	blockBytes   = 16  // of the host for each block
)

// block is one allocation. It is never merged with another.
type block struct {
	at, size uint32
	used     uint32 // bytes that were asked for
	active   bool
}

// region is a range of the memory.
type region struct{ at, len uint64 }

// kernel is the shared memory of one call.
type kernel struct {
	arena  *arena
	memory experimental.LinearMemory // once it has grown
	data   []byte
	dirty  uint64 // what is behind was never written
	room   uint64 // bytes for headers and blocks
	taken  uint64
	blocks []block // by address
	free   int     // blocks that are not active

	input, output region
	first         uint64 // where the host put the input
	lost          bool   // the last output was outside of the memory
	failure       uint64 // the block with the error's text
}

// newKernel returns nil if the limit does not allow it. Data has extismKernel
// zeros, and is the kernel's until the call is over.
func newKernel(a *arena, data []byte) *kernel {
	if !a.fits(extismKernel) {
		return nil
	}
	return &kernel{
		arena: a, data: data, room: pageSize - kernelRoot,
		blocks: make([]block, 0, 16), // not worth counting
	}
}

// alloc returns the offset of n bytes, or 0. Blocks that were freed are used
// again only when the memory would have to grow.
func (k *kernel) alloc(n uint64) uint64 {
	switch {
	case n == 0:
		return 0
	case n > uint64(max(k.arena.limit, 0)):
		k.arena.refuse(n)
		return 0
	}
	need := n + blockHeader
	if left := k.room - k.taken - kernelRoot; need >= left {
		if at := k.reuse(n); at != 0 {
			return at
		}
		if !k.grow((need - left + pageSize - 1) / pageSize) {
			return 0
		}
	}
	if !k.holdBlock() {
		return 0
	}
	at := kernelBlocks + k.taken + blockHeader
	k.taken += need
	k.blocks = append(k.blocks, block{at: uint32(at), size: uint32(n), used: uint32(n), active: true})
	return at
}

// reuse returns the first free block that is large enough, or the end of it.
func (k *kernel) reuse(n uint64) uint64 {
	if k.free == 0 {
		return 0
	}
	i := slices.IndexFunc(k.blocks, func(b block) bool { return !b.active && uint64(b.size) >= n })
	if i < 0 {
		return 0
	}
	b := &k.blocks[i]
	rest := b.size - uint32(n)
	if rest < blockRest {
		b.used, b.active = uint32(n), true
		k.free--
		return uint64(b.at)
	}
	if !k.holdBlock() {
		return 0
	}
	b = &k.blocks[i]
	b.size, b.used = rest-blockHeader, 0
	end := block{at: b.at + rest, size: uint32(n), used: uint32(n), active: true}
	k.blocks = slices.Insert(k.blocks, i+1, end)
	return uint64(end.at)
}

// holdBlock makes room to remember one more block.
func (k *kernel) holdBlock() bool {
	if len(k.blocks) < cap(k.blocks) {
		return true
	}
	more := cap(k.blocks)
	if !k.arena.fits(int64(more) * blockBytes) {
		return false
	}
	k.blocks = append(make([]block, 0, 2*more), k.blocks...)
	return true
}

func (k *kernel) grow(pages uint64) bool {
	size := uint64(len(k.data)) + pages*pageSize
	if size > 1<<32 {
		k.arena.refuse(pages * pageSize)
		return false
	}
	if pages > 0 && !k.resize(size) {
		return false
	}
	k.room += pages * pageSize
	return true
}

// resize grows the memory. The first time it moves into one of its own.
func (k *kernel) resize(size uint64) bool {
	first := len(k.data) == extismKernel
	if k.memory == nil {
		k.memory = k.arena.Allocate(size, 1<<32)
	}
	if first {
		k.arena.total -= extismKernel
	}
	data := k.memory.Reallocate(size)
	switch {
	case data == nil && first:
		k.arena.total += extismKernel
		fallthrough
	case data == nil:
		return false
	case first:
		copy(data, k.data[:k.dirty])
	}
	k.data = data
	return true
}

// at returns a part of the memory to write to.
func (k *kernel) at(from, n uint64) []byte {
	k.dirty = max(k.dirty, from+n)
	return k.data[from : from+n]
}

// find returns the active block that begins at an offset, or nil.
func (k *kernel) find(at uint64) *block {
	i, ok := slices.BinarySearchFunc(k.blocks, at, func(b block, at uint64) int { return cmp.Compare(uint64(b.at), at) })
	if !ok || !k.blocks[i].active {
		return nil
	}
	return &k.blocks[i]
}

// length returns the bytes of a block, 0 for anything else.
func (k *kernel) length(at uint64) uint64 {
	if b := k.find(at); b != nil {
		return uint64(b.used)
	}
	return 0
}

func (k *kernel) release(at uint64) {
	b := k.find(at)
	if b == nil {
		return
	}
	b.active = false
	k.free++
	if at == k.input.at {
		k.input.len = 0
	}
}

// reset forgets every block, and what was in it.
func (k *kernel) reset(ctx context.Context) error {
	whole := k.data[kernelBlocks:max(kernelBlocks, min(kernelBlocks+k.taken, k.dirty))]
	err := inPieces(ctx, len(whole), func(from, to int) { clear(whole[from:to]) })
	k.blocks, k.taken, k.free = k.blocks[:0], 0, 0
	k.input, k.output, k.failure, k.lost = region{}, region{}, 0, false
	return err
}

// bytes returns what is in a block. Anything else inside of the memory is
// empty; outside of it there is nothing.
func (k *kernel) bytes(at uint64) ([]byte, error) {
	if at > uint64(len(k.data)) {
		return nil, hostTrap("a block outside of the plugin's memory")
	}
	return k.data[at : at+k.length(at)], nil
}

// setInput says where the input is. What the allocator does not have is ignored.
func (k *kernel) setInput(s region) {
	if k.holds(s) {
		k.input = s
	}
}

// setOutput is setInput for the output, but remembers that it was out of place.
func (k *kernel) setOutput(s region) {
	held := k.holds(s)
	if held {
		k.output = s
	}
	if held || s.len > 0 {
		k.lost = !held
	}
}

func (k *kernel) setFailure(at uint64) {
	if at == 0 || at >= kernelBlocks && at < kernelBlocks+k.room {
		k.failure = at
	}
}

// holds compares both ends of a range with the allocator's memory. An empty
// range ends before it begins.
func (k *kernel) holds(s region) bool {
	end := kernelBlocks + k.room
	return s.at >= kernelBlocks && s.at < end && s.len <= end-s.at && s.at+s.len > kernelBlocks
}

// load returns one byte, 0 where there is none.
func (k *kernel) load(at uint64) (byte, error) {
	switch {
	case at < kernelRoot || at > uint64(len(k.data)):
		return 0, nil
	case at == uint64(len(k.data)):
		return 0, errOutside
	}
	return k.data[at], nil
}

// store writes one byte, or nothing where there is none.
func (k *kernel) store(at uint64, b byte) error {
	switch {
	case at < kernelRoot || at > uint64(len(k.data)):
		return nil
	case at == uint64(len(k.data)):
		return errOutside
	}
	k.at(at, 1)[0] = b
	return nil
}

// loadWord returns eight bytes at any offset, over the end of a block or not.
func (k *kernel) loadWord(at uint64) (uint64, error) {
	if at > uint64(len(k.data))-8 {
		return 0, errOutside
	}
	return binary.LittleEndian.Uint64(k.data[at:]), nil
}

func (k *kernel) storeWord(at, v uint64) error {
	if at > uint64(len(k.data))-8 {
		return errOutside
	}
	binary.LittleEndian.PutUint64(k.at(at, 8), v)
	return nil
}

// hostTrap is a mistake of a plugin that ends it as a trap does.
type hostTrap string

func (t hostTrap) Error() string { return string(t) }

const errOutside = hostTrap("an offset outside of the plugin's memory")

// copyPiece is how much is copied or cleared before the context is asked again.
const copyPiece = 1 << 20

// copyInPieces is copy, which holds up the collector until it is over: a page of a
// guest that was never written takes microseconds to come.
func copyInPieces(into, from []byte) (n int) {
	for n < len(into) && n < len(from) {
		n += copy(into[n:min(n+copyPiece, len(into))], from[n:])
	}
	return n
}

// inPieces lets do work through n bytes, and ends with ctx.
func inPieces(ctx context.Context, n int, do func(from, to int)) error {
	for from := 0; from < n; from += copyPiece {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		do(from, min(from+copyPiece, n))
	}
	return nil
}
