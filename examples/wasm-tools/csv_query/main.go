// Csv_query is a tool that filters, groups and sums up a CSV file. It reads the
// folders that it is granted.
package main

import (
	"github.com/wagent-dev/wagent/sdk"
)

// Args is what the tool is called with.
type Args struct {
	File      string   `json:"file,omitempty" doc:"path of the CSV file in a granted folder, such as /data/sales.csv"`
	Text      string   `json:"text,omitempty" doc:"the CSV itself, instead of a file"`
	Select    []string `json:"select,omitempty" doc:"columns to return; all of them if empty. Not with aggregate"`
	Where     []Filter `json:"where,omitempty" doc:"conditions that a row must all meet"`
	GroupBy   []string `json:"group_by,omitempty" doc:"columns whose values make a group; needs aggregate"`
	Aggregate []Total  `json:"aggregate,omitempty" doc:"what to work out for each group, or for all rows together"`
	OrderBy   []Order  `json:"order_by,omitempty" doc:"columns of the result to sort by"`
	Limit     int      `json:"limit" doc:"most rows to return" min:"1" max:"1000" default:"50"`
	Offset    int      `json:"offset" doc:"rows of the result to leave out first" min:"0" default:"0"`
}

// Filter is a condition on one column.
type Filter struct {
	Column string   `json:"column"`
	Op     string   `json:"op" enum:"=,!=,<,<=,>,>=,contains,starts_with,in,is_empty,not_empty"`
	Value  string   `json:"value,omitempty" doc:"compared as a number where both sides are numbers, else as text"`
	Values []string `json:"values,omitempty" doc:"for in"`
}

// Total is one number for each group.
type Total struct {
	Op     string `json:"op" enum:"count,sum,avg,min,max,median,distinct"`
	Column string `json:"column,omitempty" doc:"needed for all but count"`
	As     string `json:"as,omitempty" doc:"name of the result; op_column if empty"`
}

// Order sorts the result by one of its columns.
type Order struct {
	Column string `json:"column"`
	Desc   bool   `json:"desc,omitempty"`
}

// Result is what it answers.
type Result struct {
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
	Matched int        `json:"matched" doc:"rows of the file that met the conditions"`
	Read    int        `json:"read" doc:"rows of the file"`
	Left    int        `json:"left_out,omitempty" doc:"rows of the result that were not returned: ask for them with offset"`
}

func main() {}

func init() {
	sdk.Tool("csv_query", "Filters, groups, aggregates and sorts the rows of a CSV file. The first line names the columns.",
		run, sdk.Title("CSV query"), sdk.ReadOnly(), sdk.Idempotent(),
		sdk.Requests{Read: []string{"/data"}, Reason: "reads the CSV files it is asked about"})
}

func run(c *sdk.Call, a Args) (Result, error) {
	in, err := open(c, &a)
	if err != nil {
		return Result{}, err
	}
	defer in.Close()
	t, err := readTable(in)
	if err != nil {
		return Result{}, err
	}
	q, err := plan(&a, t.columns)
	if err != nil {
		return Result{}, err
	}
	return q.run(c, t)
}
