package host

import (
	"slices"

	"github.com/wagent-dev/wagent/host/visible"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// Capability is a door of the host: what a module says that it needs of it, and
// what its imports can do with it. Neither grants anything.
type Capability struct {
	Name string `json:"name"` // as a manifest's allow has it, or what it is
	// Asked is what the module's tools ask for, at most 64 of 256 bytes. Empty: they
	// do not ask.
	Asked []string `json:"asked,omitempty"`
	// Imports are the functions by which the module can use it. Empty: it cannot.
	Imports []string `json:"imports,omitempty"`
}

// maxAsked bounds what is listed of a module's requests.
const maxAsked = 64

// doors are the capabilities, and the imports that each is used by. All other
// imports reach nothing but what every guest has.
func doors() []struct {
	name    string
	imports []string
	asked   func(*abi.Requests) []string
} {
	return []struct {
		name    string
		imports []string
		asked   func(*abi.Requests) []string
	}{
		{"http", []string{"wagent.http", "extism.http_request"}, func(r *abi.Requests) []string { return r.HTTP }},
		{"read", []string{"wasi.path_open", "wasi.path_filestat_get", "wasi.fd_readdir"}, func(r *abi.Requests) []string { return r.Read }},
		{"write", []string{
			"wasi.path_open", "wasi.path_create_directory", "wasi.path_rename", "wasi.path_unlink_file", "wasi.path_remove_directory",
			"wasi.path_filestat_set_times",
		}, func(r *abi.Requests) []string { return r.Write }},
		{"env", []string{"wasi.environ_get", "wasi.environ_sizes_get"}, func(r *abi.Requests) []string { return r.Env }},
		{"kv", []string{"wagent.kv_get", "wagent.kv_set", "wagent.kv_delete", "wagent.kv_list"}, func(r *abi.Requests) []string {
			if r.KV {
				return []string{"kv"}
			}
			return nil
		}},
		{"state", []string{"wagent.state_get"}, nil},
		{"secrets", []string{"wagent.secret_exists"}, nil},
		{"config", []string{"extism.config_get"}, nil},
		{"clock", []string{"wasi.clock_time_get", "wasi.clock_res_get", "wasi.poll_oneoff"}, nil},
		{"random", []string{"wasi.random_get"}, nil},
	}
}

// capabilities puts what the tools ask for beside what the imports can.
func capabilities(imports []ModuleImport, tools []abi.Tool) []Capability {
	out := []Capability{}
	for _, d := range doors() {
		c := Capability{Name: d.name}
		for _, im := range imports {
			if name := im.Door + "." + im.Name; slices.Contains(d.imports, name) {
				c.Imports = append(c.Imports, name)
			}
		}
		for _, t := range tools {
			if d.asked != nil && t.Meta != nil && t.Meta.Requests != nil {
				c.ask(d.asked(t.Meta.Requests))
			}
		}
		if len(c.Asked)+len(c.Imports) > 0 {
			out = append(out, c)
		}
	}
	return out
}

func (c *Capability) ask(what []string) {
	for _, one := range what {
		one = visible.Line(one, 256)
		if len(c.Asked) < maxAsked && !slices.Contains(c.Asked, one) {
			c.Asked = append(c.Asked, one)
		}
	}
}
