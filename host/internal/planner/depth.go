package planner

// MaxDepth is how many arrays and objects may lie inside each other in what a model
// writes. encoding/json takes 10,000, with those around it: what is deeper than this
// could be read, and then neither stored nor printed.
const MaxDepth = 1000

// TooDeep says that more than [MaxDepth] arrays and objects lie inside each other in
// JSON.
func TooDeep(raw []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
