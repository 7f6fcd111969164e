package host

// readSecrets looks up the values of all secrets. Each module is given its own; what
// every module says is kept free of them all, those of other agents included.
func (h *Host) readSecrets() (err error) {
	h.secrets, err = h.manifest.ReadSecrets(h.getenv)
	return err
}
