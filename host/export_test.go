package host

// SessionGuests returns how many guests live longer than their call.
func (h *Host) SessionGuests() int { return h.engine.SessionGuests() }

// ReadPrompt finds the text in the arguments of a call of an agent.
var ReadPrompt = readPrompt

// NameOf makes the name of a tool of a manifest's path.
var NameOf = nameOf
