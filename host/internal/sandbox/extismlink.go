package sandbox

import (
	"fmt"
	"strings"

	"github.com/wagent-dev/wagent/sdk/abi"
)

func formOf(src Source, info *Info) extismForm {
	switch {
	case src.Export != "":
		return extismPlain
	case info.exports("list_tools") && info.exports("call_tool"):
		return extismV2
	default:
		return extismV1
	}
}

// checkExtismExports refuses a plugin that has nothing to call.
func checkExtismExports(src Source, info *Info) *LoadError {
	var need []string
	switch form := formOf(src, info); form {
	case extismPlain:
		if src.Tool == nil && !src.Inspect {
			return refuse(LoadUnsupported, "a plain Extism function does not describe itself",
				"give name, description and parameters beside export")
		}
		need = []string{src.Export}
	case extismV1:
		if src.Inspect {
			break // a look at what it has instead
		}
		if need = []string{"call"}; src.Tool == nil {
			need = []string{"describe", "call"}
		}
	}
	for _, name := range need {
		e, ok := info.export(name)
		switch {
		case !ok:
			return missingFunction(name, info)
		case e.Signature != "() -> i32" && e.Signature != "()":
			return refuse(LoadExport, fmt.Sprintf("the plugin exports %s as func %s, a plugin's functions are () -> i32", name, e.Signature), "")
		}
	}
	return nil
}

// missingFunction says what could be called instead.
func missingFunction(name string, info *Info) *LoadError {
	var have []string
	for _, e := range info.Exports {
		if e.Signature == "() -> i32" && !strings.HasPrefix(e.Name, "_") {
			have = append(have, e.Name)
		}
	}
	problem := fmt.Sprintf("the plugin does not export %s", name)
	switch {
	case len(have) > 0:
		return refuse(LoadExport, problem, "name one of its functions, export: "+oneLine(strings.Join(have, " | "), maxWords)+
			", with name, description and parameters")
	case info.exports(abi.ExportStart):
		return refuse(LoadExport, problem+"; it is a command (it exports _start) where a reactor was meant", "build it as one: "+buildReactor)
	default:
		return refuse(LoadExport, problem+" nor any other function () -> i32", "")
	}
}
