package manifest

import (
	"errors"
	"fmt"
	"strings"
)

// maxExpanded bounds what a value becomes when variables are put in.
const maxExpanded = 64 << 10

// expand puts variables into s: ${NAME}, or ${NAME:-default} for one that is
// not set or empty. "$${" is a "${" that stays. The error never holds a value.
func expand(s string, getenv func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "${")
		if !found {
			b.WriteString(before)
			break
		}
		if kept, ok := strings.CutSuffix(before, "$"); ok {
			b.WriteString(kept + "${")
			s = after
			continue
		}
		inner, rest, closed := strings.Cut(after, "}")
		if !closed {
			return "", errors.New(`"${" without "}": write "$${" for the characters themselves`)
		}
		value, err := variable(inner, getenv)
		if err != nil {
			return "", err
		}
		b.WriteString(before + value)
		if b.Len() > maxExpanded {
			return "", errors.New("the value is too large with its variables put in")
		}
		s = rest
	}
	return b.String(), nil
}

func variable(inner string, getenv func(string) (string, bool)) (string, error) {
	name, otherwise, hasDefault := strings.Cut(inner, ":-")
	if !isVariable(name) {
		return "", fmt.Errorf("%s is not the name of a variable: write ${NAME} or ${NAME:-default}", show(name))
	}
	if strings.Contains(otherwise, "${") {
		return "", fmt.Errorf("the default of the variable %s cannot have another variable in it", show(name))
	}
	value, ok := getenv(name)
	if hasDefault && value == "" {
		return otherwise, nil
	}
	if !ok {
		return "", fmt.Errorf("the environment variable %s is not set: set it, or write ${%s:-default}", cut(name, maxShown), cut(name, maxShown))
	}
	if strings.ContainsRune(value, 0) {
		return "", fmt.Errorf("the environment variable %s has a NUL in it", cut(name, maxShown))
	}
	return value, nil
}

func isVariable(s string) bool {
	for i, c := range s {
		letter := c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
