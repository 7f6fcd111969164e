package abi

// MaxName is the most bytes that the name of a tool may have.
const MaxName = 64

// ValidName says whether a tool may be called name: a letter or an underscore,
// then letters, digits, underscores and hyphens, at most [MaxName] of them
// together, all ASCII.
func ValidName(name string) bool {
	if name == "" || len(name) > MaxName {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_':
		case i > 0 && ('0' <= c && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return true
}
