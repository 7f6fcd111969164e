package host

// SessionGuests returns how many guests live longer than their call.
func (h *Host) SessionGuests() int { return h.engine.SessionGuests() }
