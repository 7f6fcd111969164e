package host

import (
	"errors"

	"github.com/wagent-dev/wagent/host/internal/redact"
)

// readSecrets looks up the values of all secrets. Each module is given its own;
// what every module says is kept free of them all.
func (h *Host) readSecrets() error {
	var faults []error
	var all []string
	h.secrets = make([]map[string]string, len(h.manifest.Tools))
	for i := range h.manifest.Tools {
		values, err := h.manifest.Tools[i].ReadSecrets(h.getenv)
		faults = append(faults, err)
		h.secrets[i] = values
		for _, v := range values {
			all = append(all, v)
		}
	}
	h.redact = redact.New(all...)
	return errors.Join(faults...)
}
