package wasmbin

// Limits bound what a module may hold. A zero field allows none.
type Limits struct {
	Types        int // function types
	Params       int // parameters of a function, and results
	Imports      int
	Exports      int
	Funcs        int // defined functions
	Globals      int
	Tables       int
	TableEntries uint32 // entries of a table: its minimum, and the maximum it is given
	Elems        int    // entries of all element segments
	ElemSegments int
	Data         int // data segments
	Passive      int // bytes of a passive one, which is copied in one instruction
	Body         int // bytes of one function
	Locals       int // locals of one function, parameters included
	AllLocals    int // locals of all functions
	Nesting      int // blocks in one another
	Targets      int // labels of one br_table
	Names        int // bytes of one name
	// Blocks bounds the blocks and branches of one function, and AllBlocks the sum
	// of their squares over all functions: the engine's compiler takes time by it.
	Blocks    int
	AllBlocks int
	// BranchLocals bounds branches times locals of one function, and
	// AllBranchLocals their sum: the engine's compiler takes time by it.
	BranchLocals    int
	AllBranchLocals int
}

// DefaultLimits are far above what compilers make, and low enough that what the
// engine does with a module stays within a second or two.
func DefaultLimits() Limits {
	return Limits{
		Types:        100_000,
		Params:       1000,
		Imports:      1000,
		Exports:      10_000,
		Funcs:        100_000,
		Globals:      10_000,
		Tables:       4,
		TableEntries: 200_000,
		Elems:        1_000_000,
		ElemSegments: 10_000,
		Data:         100_000,
		Passive:      2 << 20,
		Body:         2 << 20,
		Locals:       50_000,
		AllLocals:    5_000_000,
		Nesting:      2000,
		Targets:      50_000,
		Names:        1 << 10,

		Blocks:    8_000,
		AllBlocks: 300_000_000,

		BranchLocals:    250_000,
		AllBranchLocals: 10_000_000,
	}
}
