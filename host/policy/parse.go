package policy

import (
	"errors"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxGuestPath bounds where a folder may be mounted, in bytes.
const maxGuestPath = 1024

// ParseClock reads "real" (as "" is), "coarse", or "fixed:" and a date
// (2026-01-01, at midnight UTC) or a time as RFC 3339 has it.
func ParseClock(s string) (Clock, error) {
	if s == "" || s == "real" {
		return Clock{}, nil
	}
	if s == "coarse" {
		return Clock{Coarse: true}, nil
	}
	at, ok := strings.CutPrefix(s, "fixed:")
	if !ok {
		return Clock{}, errors.New(`a clock is "real", "coarse", or "fixed:" and a time`)
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		t, err := time.Parse(layout, at)
		if err != nil {
			continue
		}
		// A guest sees nanoseconds since 1970 in 64 bits.
		if t = t.UTC(); t.Year() < 1970 || t.Year() > 2200 {
			return Clock{}, errors.New("a fixed time lies between 1970 and 2200")
		}
		return Clock{Fixed: t}, nil
	}
	return Clock{}, errors.New("a fixed time is written 2026-01-01 or 2026-01-01T00:00:00Z")
}

// ParseRandom reads "real" (as "" is), or "seed:" and a whole number from 0 to
// 2^64-1.
func ParseRandom(s string) (Random, error) {
	if s == "" || s == "real" {
		return Random{}, nil
	}
	digits, ok := strings.CutPrefix(s, "seed:")
	if !ok {
		return Random{}, errors.New(`random is "real" or "seed:" and a number`)
	}
	seed, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return Random{}, errors.New("a seed is a whole number from 0 to 18446744073709551615")
	}
	return Random{Seeded: true, Seed: seed}, nil
}

// CleanGuestPath returns the one spelling of a place in a guest's file system:
// absolute, with slashes, without a trailing one. It refuses what could be read
// in two ways, ".." and backslashes among it.
func CleanGuestPath(p string) (string, error) {
	switch {
	case !strings.HasPrefix(p, "/"):
		return "", errors.New(`a guest folder begins with "/"`)
	case len(p) > maxGuestPath:
		return "", errors.New("a guest folder has at most 1024 bytes")
	case !utf8.ValidString(p):
		return "", errors.New("a guest folder is valid UTF-8")
	case strings.Contains(p, "\\"):
		return "", errors.New(`a guest folder is written with "/"`)
	}
	for _, r := range p {
		if !unicode.IsGraphic(r) {
			return "", errors.New("a guest folder has no invisible characters")
		}
	}
	for seg := range strings.SplitSeq(p, "/") {
		if seg == ".." {
			return "", errors.New(`a guest folder has no ".."`)
		}
	}
	return path.Clean(p), nil
}
