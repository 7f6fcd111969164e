// Csv_query is a tool that filters, groups and sums up a CSV file. It reads the
// folders that it is granted.
package main

import (
	"encoding/json"
	"errors"

	"github.com/wagent-dev/wagent/sdk"
)

// Args is what the tool is called with.
type Args struct {
	File         string   `json:"file,omitempty" doc:"path of the CSV file in a granted folder, such as /data/sales.csv"`
	Text         string   `json:"text,omitempty" doc:"the CSV itself, instead of a file"`
	Select       []string `json:"select,omitempty" doc:"columns to return; all of them if empty. Not with aggregate"`
	Where        []Filter `json:"where,omitempty" doc:"conditions that a row must all meet"`
	GroupBy      []string `json:"group_by,omitempty" doc:"columns whose values make a group; needs aggregate"`
	Aggregate    []Total  `json:"aggregate,omitempty" doc:"what to work out for each group, or for all rows together"`
	OrderBy      []Order  `json:"order_by,omitempty" doc:"what to sort by: columns of the file, or with aggregate columns of the result"`
	Limit        int      `json:"limit" doc:"most rows to return" min:"1" max:"1000" default:"50"`
	Offset       int      `json:"offset" doc:"rows of the result to leave out first" min:"0" max:"100000" default:"0"`
	Separator    string   `json:"separator" doc:"what parts the columns; auto finds out" enum:"auto,comma,semicolon,tab,bar" default:"auto"`
	NoHeader     bool     `json:"no_header,omitempty" doc:"the first line is data and not names; the columns are then column_1, column_2 and so on"`
	DecimalComma bool     `json:"decimal_comma,omitempty" doc:"the file writes numbers as 1.234,50 and not as 1,234.50"`
}

// Filter is a condition on one column.
type Filter struct {
	Column string    `json:"column"`
	Op     string    `json:"op" enum:"=,!=,<,<=,>,>=,contains,starts_with,in,is_empty,not_empty"`
	Value  Literal   `json:"value,omitempty" doc:"a string or a number. Numbers are compared as numbers, ISO dates as dates (2026-01 is the whole month), else as text; contains and starts_with do not mind upper and lower case"`
	Values []Literal `json:"values,omitempty" doc:"for in"`
}

// Literal is a string, a number or a boolean of JSON, as text.
type Literal struct {
	text   string
	number bool
}

// UnmarshalJSON takes what a model writes for a value, with quotes or without.
func (l *Literal) UnmarshalJSON(b []byte) error {
	*l = Literal{text: string(b)}
	switch b[0] {
	case '"':
		return json.Unmarshal(b, &l.text)
	case '{', '[', 'n':
		return errors.New("want a string or a number")
	}
	l.number = b[0] != 't' && b[0] != 'f'
	return nil
}

// Total is one number for each group.
type Total struct {
	Op     string `json:"op" enum:"count,sum,avg,min,max,median,distinct"`
	Column string `json:"column,omitempty" doc:"needed for all but count, which counts rows without it"`
	As     string `json:"as,omitempty" doc:"name of the result; op_column if empty"`
}

// Order sorts the result by one column.
type Order struct {
	Column string `json:"column"`
	Desc   bool   `json:"desc,omitempty"`
}

// Result is what it answers.
type Result struct {
	Columns   []string   `json:"columns"`
	Rows      [][]string `json:"rows"`
	Matched   int        `json:"matched" doc:"rows of the file that met the conditions"`
	Read      int        `json:"read" doc:"rows of the file"`
	Left      int        `json:"left_out,omitempty" doc:"rows of the result that were not returned: ask for them with offset"`
	Irregular int        `json:"irregular,omitempty" doc:"rows with another number of fields than there are columns: what is missing was empty, what is too much was left out"`
}

func main() {}

func init() {
	sdk.Tool("csv_query", "Filters, groups, aggregates and sorts the rows of a CSV file. The first line names the columns.",
		run, sdk.Title("CSV query"), sdk.ReadOnly(), sdk.Idempotent(),
		sdk.Requests{Read: []string{"/data"}, Reason: "reads the CSV files it is asked about"})
}

func run(c *sdk.Call, a Args) (res Result, err error) {
	in, err := open(c, &a)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	t, err := readTable(in, &a)
	if err != nil {
		return Result{}, err
	}
	q, err := plan(&a, t.columns)
	if err != nil {
		return Result{}, err
	}
	return q.run(c, t)
}
