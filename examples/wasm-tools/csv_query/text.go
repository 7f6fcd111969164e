package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxCell is how many characters of a field the table shows.
const maxCell = 60

// Text is the result as a table, which a model reads better than JSON.
func (r Result) Text() string {
	shown := append([][]string{r.Columns}, r.Rows...)
	widths := make([]int, len(r.Columns))
	for _, row := range shown {
		for i, v := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell(v)))
		}
	}
	var b strings.Builder
	for n, row := range shown {
		line(&b, row, widths)
		if n == 0 {
			for i, w := range widths {
				b.WriteString(strings.Repeat("-", w))
				if i < len(widths)-1 {
					b.WriteString("-+-")
				}
			}
			b.WriteByte('\n')
		}
	}
	fmt.Fprintf(&b, "%d of %d rows matched", r.Matched, r.Read)
	if r.Left > 0 {
		fmt.Fprintf(&b, "; %d more rows of the result are not shown", r.Left)
	}
	return b.String()
}

func line(b *strings.Builder, row []string, widths []int) {
	for i, v := range row {
		v = cell(v)
		b.WriteString(v)
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(v)) + " | ")
		}
	}
	b.WriteByte('\n')
}

// cell is a field on one line, cut where it is long.
func cell(v string) string {
	v = strings.Join(strings.Fields(v), " ")
	if utf8.RuneCountInString(v) <= maxCell {
		return v
	}
	return string([]rune(v)[:maxCell-1]) + "…"
}
