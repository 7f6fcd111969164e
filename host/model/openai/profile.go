package openai

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// reasoningEcho says which assistant messages carry their reasoning back.
type reasoningEcho byte

const (
	echoToolTurns reasoningEcho = iota // those with calls, to where they came from
	echoNever
	echoAlways // all, and an empty one where there is none
)

// systemRole says what the system message is called.
type systemRole byte

const (
	roleSystem systemRole = iota
	roleDeveloper
	roleUser // there is none: it is the user who says it
)

// profile is how one endpoint wants to be spoken to. It is a value that is
// replaced, never changed: a request under way keeps the one it began with.
type profile struct {
	origin           string // as in model.Message.Origin
	echo             reasoningEcho
	echoLearned      bool
	shortIDs         bool // call ids of nine letters and digits
	system           systemRole
	systemRefused    int             // how many of the roles were refused
	alternate        bool            // user and assistant take turns
	emptyContent     bool            // "" and not null beside calls
	flatten          bool            // without tools, calls in the history are told as text
	plainSchemas     bool            // tools without the less common words of JSON Schema
	noExtra          bool            // members that are not known do not go back
	noImages         bool            // images are told as text
	noFiles          bool            // files likewise, but for those that are text
	completionTokens bool            // max_completion_tokens and not max_tokens
	renamed          bool            // completionTokens was learned
	noOutput         bool            // the endpoint refused a schema for its text
	refused          map[digest]bool // what of tools is not shown in one conversation; see unshown
	dropped          map[string]bool

	// variant names how messages are written under this profile, for the memo.
	variant string
}

// with returns a copy of p with change made to it.
func (p *profile) with(change func(*profile)) *profile {
	q := *p
	q.dropped = maps.Clone(p.dropped)
	change(&q)
	q.variant = q.name()
	return &q
}

// without returns a copy of p that does not send the member param.
func (p *profile) without(param string) *profile {
	return p.with(func(q *profile) {
		if q.dropped == nil {
			q.dropped = make(map[string]bool)
		}
		q.dropped[param] = true
	})
}

func (p *profile) name() string {
	var b strings.Builder
	b.WriteString(p.origin)
	b.WriteByte(' ')
	b.WriteByte('0' + byte(p.echo))
	b.WriteByte('0' + byte(p.system))
	for _, set := range []bool{p.shortIDs, p.emptyContent, p.noExtra, p.noImages, p.noFiles} {
		if set {
			b.WriteByte('1')
		} else {
			b.WriteByte('0')
		}
	}
	if len(p.refused) > 0 { // it only grows
		b.WriteString(strconv.Itoa(len(p.refused)))
	}
	return b.String()
}

// losses tells what the caller asked for and is not sent any more.
func (p *profile) losses() []string {
	var out []string
	for _, param := range slices.Sorted(maps.Keys(p.dropped)) {
		if param != "stream_options" { // ours, and only for counting
			out = append(out, "the endpoint refuses "+param+": it is not sent")
		}
	}
	return out
}
