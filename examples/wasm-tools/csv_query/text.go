package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// maxField is how many characters of a field are returned.
	maxField = 2000
	// maxCell is how many of them the table shows.
	maxCell = 100
	// maxWidth is how wide a column is made for the sake of its longest field.
	maxWidth = 30
	// maxAnswer bounds the result in bytes, as structure and as text each.
	maxAnswer = 200 << 10
)

// fitting cuts long fields and returns as many rows as may be answered.
func fitting(columns []string, rows [][]string) [][]string {
	left := maxAnswer - width(columns)
	for n, row := range rows {
		for i, v := range row {
			if c := utf8.RuneCountInString(v); c > maxField {
				row[i] = fmt.Sprintf("%s… (%d characters)", string([]rune(v)[:maxField]), c)
			}
		}
		if left -= width(row); left < 0 {
			return rows[:n]
		}
	}
	return append([][]string{}, rows...) // a list in JSON, and not null
}

// width is the most bytes that a row takes.
func width(row []string) int {
	n := 0
	for _, v := range row {
		n += max(len(v), maxWidth) + len(" | ")
	}
	return n
}

// Text is the result as a table, which a model reads better than JSON.
func (r Result) Text() string {
	var b strings.Builder
	widths := r.widths()
	line(&b, r.Columns, widths)
	for i, w := range widths {
		if i > 0 {
			b.WriteString("-+-")
		}
		b.WriteString(strings.Repeat("-", w))
	}
	b.WriteByte('\n')
	for _, row := range r.Rows {
		line(&b, row, widths)
	}
	fmt.Fprintf(&b, "%d of %d rows matched", r.Matched, r.Read)
	if r.Left > 0 {
		fmt.Fprintf(&b, "; %d more rows of the result are not shown", r.Left)
	}
	if r.Irregular > 0 {
		fmt.Fprintf(&b, "; %d rows have another number of fields than there are columns", r.Irregular)
	}
	return b.String()
}

func (r Result) widths() []int {
	widths := make([]int, len(r.Columns))
	for i, name := range r.Columns {
		widths[i] = min(utf8.RuneCountInString(cell(name)), maxWidth)
	}
	for _, row := range r.Rows {
		for i, v := range row {
			widths[i] = max(widths[i], min(utf8.RuneCountInString(cell(v)), maxWidth))
		}
	}
	return widths
}

func line(b *strings.Builder, row []string, widths []int) {
	for i, v := range row {
		v = cell(v)
		b.WriteString(v)
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(v))) + " | ")
		}
	}
	b.WriteByte('\n')
}

// cell is a field on one line, cut where it is long.
func cell(v string) string {
	if v = strings.Join(strings.Fields(v), " "); len(v) <= maxCell {
		return v
	}
	if r := []rune(v); len(r) > maxCell {
		return string(r[:maxCell-1]) + "…"
	}
	return v
}
