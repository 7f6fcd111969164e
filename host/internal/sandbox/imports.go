package sandbox

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/wagent-dev/wagent/host/visible"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// signatures are the functions of one import module, by name.
type signatures map[string]string

// checkImports refuses every import that no host function answers, and those
// that need a grant which is not there.
//
// A module that imports what it may not use would fail in the middle of its
// work; a name that nobody knows would become an escape the day that somebody
// defines it.
func checkImports(src Source, info *Info, wasi signatures) *LoadError {
	known := map[string]signatures{wasiModule: wasi}
	if info.ABI == Extism {
		known[extismEnv] = extismFunctions()
		known[extismUser] = extismUserFunctions()
		known[extismUserMisspelt] = extismUserFunctions()
	} else {
		known[abi.Module] = wagentSignatures()
	}
	var lacking *LoadError // all grants that are, in one
	for _, im := range info.Imports {
		if err := checkImport(im, known[im.Module]); err != nil {
			return err
		}
		if im.Module != abi.Module || src.Inspect || src.Late {
			continue
		}
		lacking = lacking.and(checkGrant(src, im))
	}
	return lacking
}

// and is both refusals in one; those with the same remedy are told once.
func (e *LoadError) and(other *LoadError) *LoadError {
	switch {
	case e == nil:
		return other
	case other == nil || strings.Contains(e.Problem, other.Problem) || other.Fix != "" && strings.Contains(e.Fix, other.Fix):
		return e
	}
	e.Problem += "; " + other.Problem
	if other.Fix != "" && e.Fix != "" {
		e.Fix += "; "
	}
	e.Fix += other.Fix
	return e
}

func checkImport(im Import, known signatures) *LoadError {
	want, ok := known[im.Name]
	switch {
	case !ok:
		return refuse(LoadImport, fmt.Sprintf("the module imports %s from %s, which this host does not have",
			quoteImport(im), quoted(im.Module)), "build it for WASI preview 1 and import nothing but what the guide lists")
	case want != im.Signature:
		return refuse(LoadImport, fmt.Sprintf("the module imports %s from %s, here it is %s", quoteImport(im), quoted(im.Module), want),
			"build it with the SDK of this version")
	}
	return nil
}

func quoteImport(im Import) string {
	return quoted(im.Name) + " " + oneLine(im.Signature, maxWords)
}

// quoted writes a name that a module chose.
func quoted(name string) string {
	if len(name) > maxWords {
		name = strings.ToValidUTF8(name[:maxWords], "") + visible.Ellipsis
	}
	return strconv.Quote(name)
}

// checkGrant refuses an import of a capability that was not granted.
func checkGrant(src Source, im Import) *LoadError {
	switch im.Name {
	case abi.ImportHTTP:
		if len(src.Policy.Grants.HTTP) == 0 {
			return refuse(LoadGrant, "the module makes HTTP requests and was not granted any host",
				"add to its tool: allow: {http: [{host: HOST, methods: [GET]}]}")
		}
	case abi.ImportKVGet, abi.ImportKVSet, abi.ImportKVDelete, abi.ImportKVList:
		if !src.Policy.Grants.KV {
			return refuse(LoadGrant, fmt.Sprintf("the module uses a store (%s) and was not granted one", im.Name),
				"add to its tool: allow: {kv: true}")
		}
	case abi.ImportStateGet:
		if len(src.Policy.Grants.State) == 0 {
			return refuse(LoadGrant, "the module reads the run's state (state_get) and was not granted any of it",
				"add to its tool: inputs_from_state: {KEY: ARGUMENT}")
		}
	}
	return nil
}
