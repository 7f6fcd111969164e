package toolsearch

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// words returns the words of a text, folded: letters and digits that follow each
// other, parted where a capital begins a word, as in readFile and HTTPServer. In
// scripts without spaces each character is a word.
func words(text string) []string {
	s := splitter{}
	rest := []rune(text)
	for i, r := range rest {
		switch {
		case unicode.Is(unicode.Mn, r): // an accent that stands alone
		case !unicode.IsLetter(r) && !unicode.IsNumber(r):
			s.end()
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
			s.end()
			s.word.WriteRune(r)
			s.end()
		default:
			if i > 0 && begins(rest, i) {
				s.end()
			}
			s.word.WriteString(fold(r))
		}
	}
	s.end()
	return s.words
}

// begins says that a word begins at the capital at i, in the middle of letters.
func begins(text []rune, i int) bool {
	if !unicode.IsUpper(text[i]) {
		return false
	}
	before := text[i-1]
	if unicode.IsLower(before) || unicode.IsDigit(before) {
		return true
	}
	return unicode.IsUpper(before) && i+1 < len(text) && unicode.IsLower(text[i+1])
}

// nameWords returns the words of a name and, where there are several, the name in
// one word, so that "wordcount" finds word_count.
func nameWords(name string) []string {
	parts := words(name)
	if len(parts) > 1 {
		parts = append(parts, strings.Join(parts, ""))
	}
	return parts
}

type splitter struct {
	word  strings.Builder
	words []string
}

// end closes the word under way. The plural of English counts as the singular.
func (s *splitter) end() {
	w := s.word.String()
	s.word.Reset()
	if len(w) > 3 && w[len(w)-1] == 's' && w[len(w)-2] != 's' {
		w = w[:len(w)-1]
	}
	if w != "" {
		s.words = append(s.words, w)
	}
}

// fold returns r in small letters and without its accent.
func fold(r rune) string {
	if r < utf8.RuneSelf {
		return string(unicode.ToLower(r))
	}
	r = unicode.ToLower(unicode.ToUpper(r)) // letters with two small forms
	if plain, ok := accents[r]; ok {
		return plain
	}
	return string(r)
}

// accents are the letters of Latin alphabets that people leave the accent off.
var accents = func() map[rune]string {
	all := make(map[rune]string)
	for plain, letters := range map[string]string{
		"a": "àáâãäåāăą", "ae": "æ", "c": "çćĉċč", "d": "ďđð", "e": "èéêëēĕėęě", "g": "ĝğġģ", "h": "ĥħ", "i": "ìíîïĩīĭįı",
		"j": "ĵ", "k": "ķ", "l": "ĺļľŀł", "n": "ñńņňŋ", "o": "òóôõöøōŏőơ", "oe": "œ", "r": "ŕŗř", "s": "śŝşšſș", "ss": "ß",
		"t": "ţťŧțþ", "u": "ùúûüũūŭůűųư", "w": "ŵ", "y": "ýÿŷ", "z": "źżž",
	} {
		for _, r := range letters {
			all[r] = plain
		}
	}
	return all
}()

// cut returns at most n bytes of s, whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
