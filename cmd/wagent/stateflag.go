package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// givenState reads --state KEY=JSON.
func givenState(flags []string) (map[string]any, error) {
	if len(flags) == 0 {
		return nil, nil
	}
	out := make(map[string]any, len(flags))
	for _, f := range flags {
		key, value, ok := strings.Cut(f, "=")
		switch _, twice := out[key]; {
		case !ok || key == "":
			return nil, fmt.Errorf("--state %s: write KEY=JSON", strconv.Quote(f))
		case twice:
			return nil, fmt.Errorf("--state: %s is given twice", strconv.Quote(key))
		case !json.Valid([]byte(value)):
			return nil, fmt.Errorf("--state %s: the value is not JSON; a text has quotes: %s", strconv.Quote(f), strconv.Quote(key+`="text"`))
		}
		out[key] = json.RawMessage(value)
	}
	return out, nil
}
