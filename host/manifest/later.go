package manifest

import "reflect"

// later are the fields of the format that this version does not have yet. They
// are refused by name, since one that is ignored would promise something.
func later(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[Manifest]():
		return []string{"hooks", "store", "history", "memory", "audit"}
	case reflect.TypeFor[Agent]():
		return []string{"breakpoints"}
	}
	return nil
}
