package sandbox

import (
	"context"
	"fmt"
	"strings"

	extism "github.com/extism/go-sdk"

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

// extismFunctions are the functions that the SDK has for plugins.
func extismFunctions() signatures {
	s := signatures{"store_u64": "(i64, i64)", "store_u8": "(i64, i32)", "free": "(i64)"}
	for signature, names := range map[string]string{
		"(i64) -> i64":      "alloc length length_unsafe load_u64 input_load_u64 config_get var_get",
		"(i64) -> i32":      "load_u8 input_load_u8",
		"() -> i64":         "input_length input_offset output_length output_offset error_get memory_bytes http_headers",
		"() -> i32":         "http_status_code get_log_level",
		"(i64, i64)":        "input_set output_set var_set",
		"(i64, i64) -> i64": "http_request",
		"(i64)":             "error_set log_trace log_debug log_info log_warn log_error",
		"()":                "reset",
	} {
		for _, name := range strings.Fields(names) {
			s[name] = signature
		}
	}
	return s
}

// extismUserFunctions are the host functions that plugins of the v2 form
// import. None can be served; each answers with nothing, which their PDK reads
// as an error.
func extismUserFunctions() signatures {
	s := make(signatures)
	for signature, names := range map[string]string{
		"(i64) -> i64": "create_elicitation create_message get_access_token get_keyring_secret",
		"() -> i64":    "list_roots",
		"(i64)":        "notify_logging_message notify_progress notify_resource_updated notify_url_elicitation_completed",
		"()":           "notify_prompt_list_changed notify_resource_list_changed notify_tool_list_changed",
	} {
		for _, name := range strings.Fields(names) {
			s[name] = signature
		}
	}
	return s
}

func extismHostFunctions() []extism.HostFunction {
	var all []extism.HostFunction
	for _, namespace := range []string{extismUser, extismUserMisspelt} {
		for name, sig := range extismUserFunctions() {
			var params, results []extism.ValueType
			if strings.HasPrefix(sig, "(i64)") {
				params = []extism.ValueType{extism.ValueTypeI64}
			}
			if strings.HasSuffix(sig, "-> i64") {
				results = []extism.ValueType{extism.ValueTypeI64}
			}
			f := extism.NewHostFunctionWithStack(name, extismRefusal(len(results)), params, results)
			f.SetNamespace(namespace)
			all = append(all, f)
		}
	}
	return all
}

func extismRefusal(results int) extism.HostFunctionStackCallback {
	return func(ctx context.Context, _ *extism.CurrentPlugin, stack []uint64) {
		if g := guestOf(ctx); g != nil {
			g.count()
		}
		if results > 0 {
			stack[0] = 0
		}
	}
}
