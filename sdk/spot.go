package sdk

import "fmt"

// spot is where among the arguments a value is. It is put into words for an
// error only, so that what is right costs no text. Nil is the whole.
type spot struct {
	in    *spot
	item  bool // of a list, at index; else the member called name
	index int
	name  string
}

// String is as in JavaScript: limits.rows[2].
func (p *spot) String() string {
	if p == nil {
		return ""
	}
	within := p.in.String()
	switch {
	case p.item:
		return fmt.Sprintf("%s[%d]", within, p.index)
	case within == "":
		return p.name
	default:
		return within + "." + p.name
	}
}
