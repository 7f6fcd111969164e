package wasmbin

import "slices"

// readProducers notes which languages the module says that it was written in.
// See https://github.com/WebAssembly/tool-conventions/blob/main/ProducersSection.md.
func (m *Module) readProducers(r *reader) {
	for range r.count("fields of producers", m.lim.Names) {
		field := r.name(m.lim.Names)
		for range r.count("values of producers", m.lim.Names) {
			value := r.name(m.lim.Names)
			r.name(m.lim.Names) // the version
			if field == "language" && r.err == nil {
				m.languages = append(m.languages, value)
			}
		}
	}
}

// WrittenIn reports whether the module says that it was written in a language,
// such as "Go". Nothing that protects the host may rest on it.
func (m *Module) WrittenIn(language string) bool { return slices.Contains(m.languages, language) }
