package manifest

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a manifest's text. The parser of the YAML library takes time that
// grows with the square of the nesting and of some kinds of nonsense, so what
// is too large for it never reaches it.
const (
	maxBytes   = 1 << 20
	maxLines   = 10_000
	maxTokens  = 40_000
	maxFlow    = 24  // brackets inside each other
	maxIndent  = 128 // columns
	maxEntries = 8   // "-" and "?" on one line
	maxAnchors = 100
)

// guard reads the tokens of a text and refuses what a manifest has no use for
// and what the parser could be hurt with.
func guard(src string) (token.Tokens, *fault) {
	lines := 1
	for i := range len(src) {
		switch c := src[i]; {
		case c == '\n':
			if lines++; lines > maxLines {
				return nil, &fault{message: fmt.Sprintf("a manifest has at most %d lines", maxLines)}
			}
		case c < ' ' && c != '\t' && c != '\r', c == 0x7f:
			return nil, &fault{position: position{lines, 1}, message: "the line has a control character in it"}
		}
	}
	g := tokenGuard{}
	tokens := lexer.Tokenize(src)
	if len(tokens) > maxTokens {
		return nil, &fault{message: fmt.Sprintf("the manifest is too large: it has more than %d parts", maxTokens)}
	}
	for _, tk := range tokens {
		if tk.Type == token.InvalidType {
			return nil, invalid(src, tk)
		}
		if p, why := g.lookForVariable(tk); why != "" {
			return nil, &fault{position: p, message: why}
		}
		if why := g.look(tk); why != "" {
			return nil, &fault{position: positionOf(tk), message: why}
		}
	}
	return tokens, nil
}

// invalid is the fault of a token that is none. Of a tab it is told in words: the
// character itself says nothing on a terminal.
func invalid(src string, tk *token.Token) *fault {
	p := positionOf(tk)
	if !strings.Contains(tk.Error, "tab") && !strings.Contains(tk.Error, "\t") {
		return &fault{position: p, message: said(tk.Error)}
	}
	lines := strings.Split(src, "\n")
	if p.line >= 1 && p.line <= len(lines) {
		before, _, _ := strings.Cut(lines[p.line-1], "\t")
		p.column = utf8.RuneCountInString(before) + 1
	}
	return &fault{position: p, message: "a tab stands where YAML takes spaces only: indent with spaces"}
}

type tokenGuard struct {
	flow, line, entries, anchors, documents int
	seen                                    bool // something of a document was there
	last                                    *token.Token
}

// lookForVariable finds a variable without quotes inside of brackets, where its
// own brackets are YAML. It returns where the text with it begins.
func (g *tokenGuard) lookForVariable(tk *token.Token) (position, string) {
	last := g.last
	g.last = tk
	if g.flow > 0 && tk.Type == token.MappingStartType && last != nil && last.Type == token.StringType && strings.HasSuffix(last.Value, "$") {
		return positionOf(last), `put ${…} in quotes inside { } and [ ], such as {api_key: "${NAME}"}`
	}
	return position{}, ""
}

func (g *tokenGuard) look(tk *token.Token) string {
	if tk.Position.Line != g.line {
		g.line, g.entries = tk.Position.Line, 0
		if g.flow == 0 && tk.Position.Column > maxIndent && tk.Type != token.CommentType {
			return fmt.Sprintf("the line is indented by more than %d columns", maxIndent)
		}
	}
	switch tk.Type {
	case token.DirectiveType:
		return "YAML directives are not supported"
	case token.TagType:
		return "YAML tags are not supported"
	case token.MergeKeyType:
		return `"<<" is not supported: write the fields out`
	case token.DocumentHeaderType:
		if g.documents++; g.seen || g.documents > 1 {
			return "a manifest is one YAML document, and here another begins"
		}
		return ""
	case token.AnchorType:
		if g.anchors++; g.anchors > maxAnchors {
			return fmt.Sprintf("more than %d anchors", maxAnchors)
		}
	case token.SequenceStartType, token.MappingStartType:
		if g.flow++; g.flow > maxFlow {
			return fmt.Sprintf("more than %d brackets inside each other", maxFlow)
		}
	case token.SequenceEndType, token.MappingEndType:
		g.flow--
	case token.SequenceEntryType, token.MappingKeyType:
		if g.entries++; g.entries > maxEntries {
			return fmt.Sprintf("more than %d lists inside each other on a line", maxEntries)
		}
	}
	g.seen = g.seen || tk.Type != token.CommentType
	return ""
}

func positionOf(tk *token.Token) position {
	if tk == nil || tk.Position == nil {
		return position{}
	}
	return position{tk.Position.Line, tk.Position.Column}
}
