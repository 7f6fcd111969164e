package sdk

import (
	"encoding/json"
	"fmt"
)

// StateGet decodes a value of the run's state, which the manifest has to map to
// this tool, into what into points to, as encoding/json does. The error is of kind
// not_found if the state has no such value, and auth_required if none is mapped.
//
// Not yet supported by this host: it refuses a module that uses it.
func StateGet(c *Call, key string, into any) error {
	b, err := hostStateGet(c, key)
	if err != nil {
		return refused("state "+key, err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("state %s: %w", key, err)
	}
	return nil
}
