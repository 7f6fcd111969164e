package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/sdk/abi"
	"github.com/wagent-dev/wagent/sdk/sdktest"
)

const sales = `region,product,units,price,day
North,apple,10,0.10,2026-01-03
South,pear,5,0.20,2026-01-04
North,pear,"1,200",0.30,2026-02-01
South,apple,,0.10,2026-02-02
East,"kiwi, green",7,1.5,2026-01-31
`

func ask(t *testing.T, args map[string]any) Result {
	t.Helper()
	if args["text"] == nil && args["file"] == nil {
		args["text"] = sales
	}
	res := sdktest.Call(t, "csv_query", args)
	if res.Error != nil {
		t.Fatal(res.Error)
	}
	var r Result
	if err := res.Decode(&r); err != nil {
		t.Fatal(err)
	}
	return r
}

type list = []any

func TestQueries(t *testing.T) {
	for name, c := range map[string]struct {
		args map[string]any
		want [][]string
	}{
		"all": {map[string]any{"select": list{"product"}, "limit": 2}, [][]string{{"apple"}, {"pear"}}},
		"numbers are compared as numbers": {
			map[string]any{"select": list{"units"}, "where": list{map[string]any{"column": "units", "op": ">", "value": "9"}}},
			[][]string{{"10"}, {"1,200"}},
		},
		"dates are compared as text": {
			map[string]any{"select": list{"region"}, "where": list{map[string]any{"column": "day", "op": ">=", "value": "2026-02-01"}}},
			[][]string{{"North"}, {"South"}},
		},
		"contains": {map[string]any{"select": list{"product"}, "where": list{map[string]any{"column": "product", "op": "contains", "value": "KIWI"}}}, [][]string{{"kiwi, green"}}},
		"in":       {map[string]any{"select": list{"units"}, "where": list{map[string]any{"column": "units", "op": "in", "values": list{"5", "7.0"}}}}, [][]string{{"5"}, {"7"}}},
		"empty":    {map[string]any{"select": list{"region"}, "where": list{map[string]any{"column": "units", "op": "is_empty"}}}, [][]string{{"South"}}},
		"grouped": {
			map[string]any{
				"group_by": list{"region"}, "order_by": list{map[string]any{"column": "sum_units", "desc": true}},
				"aggregate": list{map[string]any{"op": "sum", "column": "units"}, map[string]any{"op": "count"}},
			},
			[][]string{{"North", "1210", "2"}, {"East", "7", "1"}, {"South", "5", "2"}},
		},
		"no noise": {
			map[string]any{"aggregate": list{map[string]any{"op": "sum", "column": "price", "as": "total"}, map[string]any{"op": "avg", "column": "price"}, map[string]any{"op": "median", "column": "price"}}},
			[][]string{{"2.2", "0.44", "0.2"}},
		},
		"bounds": {
			map[string]any{"aggregate": list{map[string]any{"op": "min", "column": "day"}, map[string]any{"op": "max", "column": "units"}, map[string]any{"op": "distinct", "column": "product"}}},
			[][]string{{"2026-01-03", "1,200", "3"}},
		},
		"nothing matches": {
			map[string]any{"where": list{map[string]any{"column": "region", "op": "=", "value": "West"}}, "aggregate": list{map[string]any{"op": "count"}, map[string]any{"op": "avg", "column": "units"}}},
			[][]string{{"0", ""}},
		},
		"paged": {map[string]any{"select": list{"region"}, "offset": 3, "limit": 1}, [][]string{{"South"}}},
		"without order, later rows do not matter": {map[string]any{"select": list{"product"}, "offset": 1, "limit": 1}, [][]string{{"pear"}}},
		"ordered by what is not selected": {
			map[string]any{"select": list{"product"}, "order_by": list{map[string]any{"column": "units", "desc": true}}},
			[][]string{{"pear"}, {"apple"}, {"kiwi, green"}, {"pear"}, {"apple"}},
		},
		"a value may be a number": {map[string]any{"select": list{"product"}, "where": list{map[string]any{"column": "Units", "op": "=", "value": 1200}}}, [][]string{{"pear"}}},
		"a month is all of it":    {map[string]any{"select": list{"day"}, "where": list{map[string]any{"column": "day", "op": "<=", "value": "2026-01"}, map[string]any{"column": "day", "op": ">", "value": "2026-01-03"}}}, [][]string{{"2026-01-04"}, {"2026-01-31"}}},
		"a year is one":           {map[string]any{"limit": 1, "select": list{"day"}, "where": list{map[string]any{"column": "day", "op": ">=", "value": 2026}}}, [][]string{{"2026-01-03"}}},
		"text is neither more nor less than a number": {
			map[string]any{"text": "v\nn/a\n5\n-1\n", "where": list{map[string]any{"column": "v", "op": ">", "value": "0"}}}, [][]string{{"5"}},
		},
		"what is no number comes after, up and down": {
			map[string]any{"text": "a,v\n1,\n2,n/a\n3,5\n4,7\n", "select": list{"a"}, "order_by": list{map[string]any{"column": "v", "desc": true}}},
			[][]string{{"4"}, {"3"}, {"2"}, {"1"}},
		},
		"decimal comma": {
			map[string]any{"text": "a;v\nx;1.234,5\nx;0,25\ny;9,5\n", "decimal_comma": true, "group_by": list{"a"}, "aggregate": list{map[string]any{"op": "sum", "column": "v"}, map[string]any{"op": "max", "column": "v"}}, "order_by": list{map[string]any{"column": "sum_v"}}, "where": list{map[string]any{"column": "v", "op": "<", "value": 1234.6}}},
			[][]string{{"y", "9.5", "9,5"}, {"x", "1234.75", "1.234,5"}},
		},
		"no header":           {map[string]any{"text": "x,1\ny,2\n", "no_header": true, "aggregate": list{map[string]any{"op": "sum", "column": "column_2"}}}, [][]string{{"3"}}},
		"two of a name":       {map[string]any{"text": "a,a,\n1,2,3\n", "select": list{"a_2", "column_3", "a"}}, [][]string{{"2", "3", "1"}}},
		"separator is said":   {map[string]any{"text": "a;b,c\n1;2,3\n", "separator": "comma", "select": list{"c"}}, [][]string{{"3"}}},
		"spreadsheet's sep":   {map[string]any{"text": "\ufeffsep=|\r\na,b,c|d\r\n1|2\r\n", "select": list{"d"}}, [][]string{{"2"}}},
		"lines in a field":    {map[string]any{"text": "a\tb\n\"x\r\ny \"\"z\"\"\"\t1\n"}, [][]string{{"x\ny \"z\"", "1"}}},
		"quotes in a field":   {map[string]any{"text": "a,b\n5\" pipe,\"6\" long\"\n"}, [][]string{{"5\" pipe", "6\" long"}}},
		"spaces do not count": {map[string]any{"text": "a, b\nx ,1\nx, 2\n", "group_by": list{"a"}, "aggregate": list{map[string]any{"op": "sum", "column": "b"}}}, [][]string{{"x", "3"}}},
		"cents are kept":      {map[string]any{"text": "v\n123456789012.34\n0.01\n", "aggregate": list{map[string]any{"op": "sum", "column": "v"}}}, [][]string{{"123456789012.35"}}},
		"percent and money":   {map[string]any{"text": "v;w\n5%;€ 3\n10 %;$1,000.50\n", "aggregate": list{map[string]any{"op": "sum", "column": "v"}, map[string]any{"op": "sum", "column": "w"}}}, [][]string{{"0.15", "1003.5"}}},
		"semicolon":           {map[string]any{"text": "\ufeffa;b\n1;2,5\n"}, [][]string{{"1", "2,5"}}},
		"ragged":              {map[string]any{"text": "a,b\n1\n1,2,3\n"}, [][]string{{"1", ""}, {"1", "2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, ask(t, c.args).Rows); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		args map[string]any
		want string
	}{
		"misspelt column":    {map[string]any{"select": list{"regon"}}, `there is no column "regon"; did you mean "region"? The columns are: region, product`},
		"group alone":        {map[string]any{"group_by": list{"region"}}, "group_by needs aggregate"},
		"select with group":  {map[string]any{"select": list{"region"}, "aggregate": list{map[string]any{"op": "count"}}}, "do not go together"},
		"text in a sum":      {map[string]any{"aggregate": list{map[string]any{"op": "sum", "column": "product"}}}, `"apple" is not a number`},
		"sum of nothing":     {map[string]any{"aggregate": list{map[string]any{"op": "sum"}}}, "sum needs a column"},
		"nothing to read":    {map[string]any{"text": ""}, "give the file to read"},
		"order":              {map[string]any{"order_by": list{map[string]any{"column": "x"}}}, "order_by: there is no column"},
		"binary":             {map[string]any{"text": "a,b\n\x00"}, "not text"},
		"open quote":         {map[string]any{"text": "a,b\n1,\"2\n3,4\n"}, "the quote that opens in line 2 of the CSV is not closed"},
		"a row of a file":    {map[string]any{"text": "a,b\n1,\"" + strings.Repeat("x\n", 1<<20)}, "the row that begins in line 2 of the CSV is longer than 1024 KiB"},
		"many fields":        {map[string]any{"text": "a\n" + strings.Repeat(",", 5000)}, "more than 4096 fields"},
		"decimal commas":     {map[string]any{"text": "v;w\n1;2,5\n", "aggregate": list{map[string]any{"op": "sum", "column": "w"}}}, "set decimal_comma"},
		"one name twice":     {map[string]any{"aggregate": list{map[string]any{"op": "count"}, map[string]any{"op": "count"}}}, `a column "count" already`},
		"nothing in":         {map[string]any{"where": list{map[string]any{"column": "day", "op": "in"}}}, "in needs values"},
		"a list for a value": {map[string]any{"where": list{map[string]any{"column": "day", "op": "=", "value": list{1}}}}, "want a string or a number"},
		"wide rows":          {map[string]any{"text": strings.Repeat(strings.Repeat("y", 900)+",", 500) + "z\n1\n"}, "select fewer columns"},
	} {
		if c.args["text"] == nil {
			c.args["text"] = sales
		}
		res := sdktest.Call(t, "csv_query", c.args)
		if res.Error == nil || res.Error.Kind != abi.Input || !strings.Contains(res.Error.Message, c.want) {
			t.Errorf("%s: %+v, want %q", name, res.Error, c.want)
		}
	}
}

func TestFilesNeedAGrant(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "sales.csv")
	if err := os.WriteFile(file, []byte(sales), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file string
		opts []sdktest.Option
		kind abi.ErrorKind
		want string
	}{
		"none":     {file, nil, abi.AuthRequired, "allow: {read: {./data: /data}}"},
		"outside":  {"/etc/passwd", []sdktest.Option{sdktest.Folders(dir)}, abi.AuthRequired, "granted are: " + dir},
		"misspelt": {filepath.Join(dir, "sale.csv"), []sdktest.Option{sdktest.Folders(dir)}, abi.NotFound, "did you mean"},
	} {
		res := sdktest.Call(t, "csv_query", map[string]any{"file": c.file}, c.opts...)
		if res.Error == nil || res.Error.Kind != c.kind || !strings.Contains(res.Error.Message, c.want) {
			t.Errorf("%s: %+v, want %q", name, res.Error, c.want)
		}
	}
	res := sdktest.Call(t, "csv_query", map[string]any{"file": file}, sdktest.Folders(dir))
	if res.Error != nil || !strings.HasSuffix(res.Text(), "5 of 5 rows matched") {
		t.Errorf("%v\n%s", res.Error, res.Text())
	}
}

func TestALargeFileIsReadRowByRow(t *testing.T) {
	var b strings.Builder
	b.WriteString("k,v\n")
	for i := range 100_000 {
		fmt.Fprintf(&b, "%d,%d\n", i%10, i)
	}
	got := ask(t, map[string]any{"text": b.String(), "group_by": list{"k"}, "aggregate": list{map[string]any{"op": "sum", "column": "v"}}, "limit": 3})
	if d := cmp.Diff([][]string{{"0", "499950000"}, {"1", "499960000"}, {"2", "499970000"}}, got.Rows); d != "" || got.Left != 7 || got.Read != 100_000 {
		t.Errorf("%s %+v", d, got)
	}
}

func TestAResultIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,text\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "%d,%s\n", i, strings.Repeat("é", 3000))
	}
	res := sdktest.Call(t, "csv_query", map[string]any{"text": b.String(), "limit": 1000})
	var got Result
	if err := res.Decode(&got); err != nil {
		t.Fatal(err, res.Error)
	}
	if n := len(got.Rows); n == 0 || n > 60 || got.Left != 2000-n || !strings.HasSuffix(got.Rows[0][1], "é… (3000 characters)") {
		t.Errorf("%d rows, %d left out", n, got.Left)
	}
	if size := max(len(res.Text()), len(res.StructuredContent)); size > 300<<10 {
		t.Errorf("%d bytes", size)
	}
}

func TestOldSpreadsheetsAreRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "old.csv")
	if err := os.WriteFile(file, []byte("caf\xe9;preis\ncr\xeape;5 \x80\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	res := sdktest.Call(t, "csv_query", map[string]any{"file": "old.csv", "where": list{map[string]any{"column": "preis", "op": "=", "value": 5}}}, sdktest.Folders(filepath.Dir(file)))
	want := "café  | preis\n------+------\ncrêpe | 5 €\n1 of 1 rows matched"
	if d := cmp.Diff(want, res.Text()); d != "" {
		t.Errorf("%v\n%s", res.Error, d)
	}
}

// The same rows come first, whether all are kept to be sorted or few are.
func TestOnlyTheFirstOfAnOrderAreKept(t *testing.T) {
	const rows = 20_000
	var b strings.Builder
	b.WriteString("i,v\n")
	for i := range rows {
		fmt.Fprintf(&b, "%d,%d\n", i, i*7919%1000)
	}
	order := list{map[string]any{"column": "v", "desc": true}}
	few := ask(t, map[string]any{"text": b.String(), "order_by": order, "offset": 15, "limit": 10})
	all := ask(t, map[string]any{"text": b.String(), "order_by": order, "limit": 1000})
	if d := cmp.Diff(all.Rows[15:25], few.Rows); d != "" || few.Left != rows-25 {
		t.Errorf("%s %d left out", d, few.Left)
	}
}

func TestTooMuchToHoldIsRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString("k,v\n")
	for i := range 400_000 {
		fmt.Fprintf(&b, "%d,%d\n", i, i)
	}
	for name, args := range map[string]map[string]any{
		"groups":   {"group_by": list{"k"}, "aggregate": list{map[string]any{"op": "sum", "column": "v"}}},
		"distinct": {"aggregate": list{map[string]any{"op": "distinct", "column": "v"}}},
		"rows":     {"order_by": list{map[string]any{"column": "v", "desc": true}}, "offset": 100_000},
	} {
		args["text"] = b.String()
		res := sdktest.Call(t, "csv_query", args)
		if res.Error == nil || res.Error.Kind != abi.Input || !strings.Contains(res.Error.Message, "too much in memory") {
			t.Errorf("%s: %v", name, res.Error)
		}
	}
}
