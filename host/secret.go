package host

import "github.com/wagent-dev/wagent/host/internal/redact"

// readSecrets looks up the values of all secrets. Each module is given its own;
// what every module says is kept free of them all.
func (h *Host) readSecrets() (err error) {
	if h.secrets, err = h.manifest.ReadSecrets(h.getenv); err != nil {
		return err
	}
	var all []string
	for _, values := range h.secrets {
		for _, v := range values {
			all = append(all, v)
		}
	}
	h.redact = redact.New(all...)
	return nil
}
