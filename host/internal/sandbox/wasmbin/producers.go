package wasmbin

import "slices"

// readProducers notes which languages the module says that it was written in.
// See https://github.com/WebAssembly/tool-conventions/blob/main/ProducersSection.md.
func (m *Module) readProducers(r *reader) {
	for range r.count("fields of producers", m.lim.Names) {
		field := r.name(m.lim.Names)
		for range r.count("values of producers", m.lim.Names) {
			value := r.name(m.lim.Names)
			version := r.name(m.lim.Names)
			if r.err == nil && len(m.producers) < maxNoted {
				m.producers = append(m.producers, Producer{field, value, version})
			}
			if field == "language" && r.err == nil {
				m.languages = append(m.languages, value)
			}
		}
	}
}

// Producer is one entry of the producers section: a tool that made the module, as
// the module says.
type Producer struct{ Field, Name, Version string }

// Producers returns what the module says that made it, at most [maxNoted].
func (m *Module) Producers() []Producer { return m.producers }

// Custom is a custom section (5.5.3).
type Custom struct {
	Name  string
	Bytes int // with its name
}

// maxNoted bounds how many sections and producers are noted.
const maxNoted = 64

// Customs returns the custom sections, at most [maxNoted], and how many there are
// beside those. Of all of them only names of functions are in what [Module.Rewrite]
// makes.
func (m *Module) Customs() (noted []Custom, more int) { return m.customs, m.moreCustoms }

// noteCustom notes a custom section.
func (m *Module) noteCustom(name string, r *reader) {
	switch {
	case r.err != nil:
	case len(m.customs) < maxNoted:
		m.customs = append(m.customs, Custom{name, len(r.b)})
	default:
		m.moreCustoms++
	}
}

// WrittenIn reports whether the module says that it was written in a language,
// such as "Go". Nothing that protects the host may rest on it.
func (m *Module) WrittenIn(language string) bool { return slices.Contains(m.languages, language) }
