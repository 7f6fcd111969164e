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
		"paged":     {map[string]any{"select": list{"region"}, "offset": 3, "limit": 1}, [][]string{{"South"}}},
		"semicolon": {map[string]any{"text": "\ufeffa;b\n1;2,5\n"}, [][]string{{"1", "2,5"}}},
		"ragged":    {map[string]any{"text": "a,b\n1\n1,2,3\n"}, [][]string{{"1", ""}, {"1", "2"}}},
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
		"misspelt column":   {map[string]any{"select": list{"regon"}}, `there is no column "regon"; did you mean "region"? The columns are: region, product`},
		"group alone":       {map[string]any{"group_by": list{"region"}}, "group_by needs aggregate"},
		"select with group": {map[string]any{"select": list{"region"}, "aggregate": list{map[string]any{"op": "count"}}}, "do not go together"},
		"text in a sum":     {map[string]any{"aggregate": list{map[string]any{"op": "sum", "column": "product"}}}, `"apple" is not a number`},
		"sum of nothing":    {map[string]any{"aggregate": list{map[string]any{"op": "sum"}}}, "sum needs a column"},
		"nothing to read":   {map[string]any{"text": ""}, "give the file to read"},
		"order":             {map[string]any{"order_by": list{map[string]any{"column": "x"}}}, "order_by: there is no column"},
		"binary":            {map[string]any{"text": "a,b\n\x00"}, "not text"},
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
		"misspelt": {filepath.Join(dir, "sale.csv"), []sdktest.Option{sdktest.Folders(dir)}, abi.NotFound, "the folder has sales.csv"},
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

func FuzzTable(f *testing.F) {
	for _, s := range []string{sales, "a;b\n1;2", "\ufeffx\n\"", "a\tb\n\"1\n2\"\t3", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if s == "" || len(s) > 1<<16 {
			return
		}
		for _, args := range []map[string]any{
			{"text": s}, {"text": s, "aggregate": list{map[string]any{"op": "count"}}},
		} {
			if _, err := sdktest.Do("csv_query", args); err != nil {
				t.Fatal(err)
			}
		}
	})
}
