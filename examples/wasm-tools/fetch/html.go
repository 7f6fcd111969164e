package main

import (
	"html"
	"strings"
)

// isHTML says that a text is a page of HTML.
func isHTML(contentType, text string) bool {
	if strings.Contains(strings.ToLower(contentType), "html") {
		return true
	}
	head := strings.ToLower(strings.TrimSpace(text[:min(len(text), 256)]))
	return contentType == "" && (strings.HasPrefix(head, "<!doctype html") || strings.HasPrefix(head, "<html"))
}

// reader makes text of HTML: what a browser would show, without its looks. It
// reads tags one after the other and never backwards, so its time is linear.
type reader struct {
	out    strings.Builder
	title  strings.Builder
	inside string // the element whose content is collected or left out
	pre    int    // how many <pre> are open
	blank  int    // line ends at the end of out
	space  bool   // a space is due before the next word
}

// readable returns the title and the text of a page.
func readable(page string) (title, text string) {
	r := &reader{blank: 2}
	r.out.Grow(len(page) / 2) // about what remains, so that it need not grow often
	for page != "" {
		i := strings.IndexByte(page, '<')
		if i < 0 {
			r.text(page)
			break
		}
		r.text(page[:i])
		page = r.tag(page[i:])
	}
	return strings.Join(strings.Fields(r.title.String()), " "), strings.TrimSpace(r.out.String())
}

// tag reads what begins with < and returns what follows.
func (r *reader) tag(s string) string {
	if strings.HasPrefix(s, "<!--") {
		_, after, ok := strings.Cut(s[4:], "-->")
		if !ok {
			return ""
		}
		return after
	}
	if len(s) < 2 || s[1] != '/' && s[1] != '!' && s[1] != '?' && !letter(s[1]) {
		r.text("<")
		return s[1:]
	}
	end := tagEnd(s)
	body := strings.TrimRight(s[1:end], ">")
	name := nameOf(body)
	if strings.HasPrefix(body, "/") {
		r.close(name)
		return s[end:]
	}
	rest := s[end:]
	r.open(name, body)
	switch name {
	case "script", "style", "noscript", "template", "svg", "iframe":
		return skip(rest, name)
	}
	return rest
}

// nameOf returns the name of a tag, in lower case.
func nameOf(body string) string {
	name := strings.TrimLeft(body, "/")
	for i := range len(name) {
		switch name[i] {
		case ' ', '\t', '\n', '\r', '/':
			return strings.ToLower(name[:i])
		}
	}
	return strings.ToLower(name)
}

// tagEnd returns where the tag at the front of s ends. A > in the quoted value of
// an attribute is not its end; a quote that no = precedes is a letter like others.
func tagEnd(s string) int {
	if i := strings.IndexByte(s, '>'); i > 0 && !strings.ContainsAny(s[:i], "\"'") {
		return i + 1 // most have no quotes
	}
	quote, last := byte(0), byte(0)
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote, last = 0, c
			}
		case last == '=' && (c == '"' || c == '\''):
			quote = c
		case c == '>':
			return i + 1
		case !blank(c):
			last = c
		}
	}
	return len(s)
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' }

// skip returns what follows the end tag of an element that is not shown.
func skip(s, name string) string {
	for {
		i := strings.Index(s, "</")
		if i < 0 {
			return ""
		}
		s = s[i+2:]
		if len(s) >= len(name) && strings.EqualFold(s[:len(name)], name) {
			return s[tagEnd("<"+s)-1:]
		}
	}
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// lines is how many line ends go around an element; what is not here is in line.
func lines(name string) int {
	switch name {
	case "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "pre", "blockquote", "article", "section", "header", "footer", "nav", "main", "form", "dl":
		return 2
	case "div", "li", "tr", "br", "hr", "dt", "dd", "option", "figure", "figcaption", "title", "summary":
		return 1
	}
	return 0
}

func (r *reader) open(name, body string) {
	r.newlines(lines(name))
	switch name {
	case "title":
		r.inside = name
	case "pre":
		r.pre++
	case "li":
		r.write("- ")
	case "h1", "h2", "h3", "h4", "h5", "h6":
		r.write(strings.Repeat("#", int(name[1]-'0')) + " ")
	case "img":
		if alt := attribute(body, "alt"); alt != "" {
			r.text("[" + alt + "]")
		}
	}
}

func (r *reader) close(name string) {
	switch name {
	case "title":
		r.inside = ""
	case "pre":
		r.pre = max(0, r.pre-1)
	case "td", "th":
		r.write(" | ")
		return
	}
	r.newlines(lines(name))
}

// attribute returns the value of an attribute, decoded.
func attribute(body, name string) string {
	lower := strings.ToLower(body)
	i := strings.Index(lower, " "+name+"=")
	if i < 0 || len(lower) != len(body) {
		return ""
	}
	v := body[i+len(name)+2:]
	if v == "" {
		return ""
	}
	if v[0] == '"' || v[0] == '\'' {
		v, _, _ = strings.Cut(v[1:], v[:1])
	} else {
		v, _, _ = strings.Cut(v, " ")
	}
	return html.UnescapeString(v)
}

// text adds text between tags.
func (r *reader) text(s string) {
	if s == "" {
		return
	}
	s = html.UnescapeString(s)
	switch {
	case r.inside == "title":
		r.title.WriteString(s)
		return
	case r.pre > 0:
		r.write(s)
		return
	}
	s = strings.ReplaceAll(s, "\u00a0", " ")
	words := strings.Fields(s)
	if len(words) == 0 {
		r.space = true
		return
	}
	r.space = r.space || strings.ContainsAny(s[:1], " \t\r\n")
	if r.space && r.blank == 0 {
		r.out.WriteByte(' ')
	}
	r.out.WriteString(strings.Join(words, " "))
	r.blank = 0
	r.space = strings.ContainsAny(s[len(s)-1:], " \t\r\n")
}

func (r *reader) write(s string) {
	r.out.WriteString(s)
	r.blank, r.space = 0, false
}

// newlines makes sure that n line ends are at the end of the output.
func (r *reader) newlines(n int) {
	for ; r.blank < n; r.blank++ {
		r.out.WriteByte('\n')
		r.space = false
	}
}
