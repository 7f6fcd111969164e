package manifest

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// unit is a unit of sizes and what it stands for.
type unit struct {
	name  string
	bytes int64
}

func units() []unit {
	return []unit{
		{"TiB", 1 << 40},
		{"GiB", 1 << 30},
		{"MiB", 1 << 20},
		{"KiB", 1 << 10},
		{"TB", 1e12},
		{"GB", 1e9},
		{"MB", 1e6},
		{"KB", 1e3},
		{"B", 1},
	}
}

// ParseSize reads a number of bytes with or without a unit: KiB, MiB, GiB and
// TiB are powers of 1024, KB, MB, GB and TB of 1000.
func ParseSize(s string) (Size, error) {
	digits, factor := s, int64(1)
	for _, u := range units() {
		if number, ok := strings.CutSuffix(s, u.name); ok {
			digits, factor = strings.TrimSuffix(number, " "), u.bytes
			break
		}
	}
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf("%s is not a size: %s", show(s), sizeHint(s))
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("%s is too large", show(s))
	}
	return Size(n * factor), nil
}

// sizeHint knows what people write instead of a unit.
func sizeHint(s string) string {
	number := strings.TrimRight(s, "kKmMgGtTiIbB ")
	written := strings.ToLower(strings.TrimSpace(s[len(number):]))
	if number != "" && strings.Trim(number, "0123456789") == "" && written != "" {
		for _, u := range units() {
			if name := strings.ToLower(u.name); written == name || written == strings.TrimSuffix(name, "b") {
				return fmt.Sprintf("did you mean %q?", number+u.name)
			}
		}
	}
	return `write it as "64MiB" or "8KB"`
}

// String is the shortest exact form, as ParseSize reads it.
func (s Size) String() string {
	for _, u := range units() {
		if s != 0 && int64(s)%u.bytes == 0 && (u.bytes == 1 || strings.HasSuffix(u.name, "iB")) {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return "0B"
}

// MarshalText writes it as String does.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what [ParseSize] reads.
func (s *Size) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSize(string(text))
	return err
}

// ParseFuel reads a number of units of work with or without a suffix: K, M, G and
// T stand for thousands.
func ParseFuel(s string) (Fuel, error) {
	digits, factor := s, int64(1)
	for i, suffix := range fuelUnits {
		if number, ok := strings.CutSuffix(s, suffix); ok {
			digits, factor = strings.TrimSuffix(number, " "), int64(math.Pow(1000, float64(len(fuelUnits)-i)))
			break
		}
	}
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf(`%s is not a number of units of work: write it as "5G" or "200M"`, show(s))
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("%s is too large", show(s))
	}
	return Fuel(n * factor), nil
}

// fuelUnits are the suffixes of fuel, the largest first.
var fuelUnits = [...]string{"T", "G", "M", "K"}

// String is the shortest exact form, as ParseFuel reads it.
func (f Fuel) String() string {
	for i, suffix := range fuelUnits {
		if unit := Fuel(math.Pow(1000, float64(len(fuelUnits)-i))); f != 0 && f%unit == 0 {
			return strconv.FormatInt(int64(f/unit), 10) + suffix
		}
	}
	return strconv.FormatInt(int64(f), 10)
}

// MarshalText writes it as String does.
func (f Fuel) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads what [ParseFuel] reads.
func (f *Fuel) UnmarshalText(text []byte) (err error) {
	*f, err = ParseFuel(string(text))
	return err
}

// ParseDuration reads a Go duration, such as 500ms or 1h30m.
func ParseDuration(s string) (Duration, error) {
	d, err := time.ParseDuration(s)
	if err == nil {
		return Duration(d), nil
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil && len(s) < 20 && n >= 0 {
		return 0, fmt.Errorf("%s has no unit: write %ss for seconds", show(s), s)
	}
	return 0, errors.New(show(s) + ` is not a duration: write it as "5s", "500ms" or "2m"`)
}

// String is the form of a Go duration, such as 1m30s.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes it as String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what [ParseDuration] reads.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDuration(string(text))
	return err
}
