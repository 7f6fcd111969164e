package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// parseByStandard is parse by encoding/json alone.
func parseByStandard(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// FuzzScan holds the scanner to encoding/json: what it takes, it reads the same,
// and what encoding/json refuses, it refuses.
func FuzzScan(f *testing.F) {
	for _, s := range scanned {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := scanner{data: data}
		got, ok := s.value()
		ok = ok && s.end()
		if ok {
			want, err := parseByStandard(data)
			if err != nil || !json.Valid(data) {
				t.Fatalf("taken: %q: %v", data, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
		}
		passed := scanner{data: data}
		if skipped := passed.skip() && passed.end(); skipped && !json.Valid(data) || ok && !skipped {
			t.Fatalf("skipped %v, read %v: %q", skipped, ok, data)
		}
		dense := scanner{data: data, dense: true}
		if dense.skip() && dense.at == len(data) {
			var b bytes.Buffer
			if err := json.Compact(&b, data); err != nil || !bytes.Equal(b.Bytes(), data) {
				t.Fatalf("dense: %q: %v", data, err)
			}
		}
	})
}

var scanned = []string{
	`{"a":[1,-0.5e+7,"x",true,false,null,{}],"b":{"":[]}}`, " [ 1 ,\t\r\n2 ] ", `"12345678\n12345678é\\\"\/\b\f\r\t"`,
	`"\u00e9\ud83d\ude00\u2028"`, `"日本語 12345678 \u65e5"`, `{"a":1,"a":{"b":2}}`, `{"\u0061":1,"a":2}`, `0`, `-0`, `1e5`, `0.10`,
}

func TestTheScannerTakesWhatIsUsual(t *testing.T) {
	for _, data := range scanned {
		s := scanner{data: []byte(data)}
		got, ok := s.value()
		want, err := parseByStandard([]byte(data))
		if !ok || !s.end() || err != nil {
			t.Errorf("%s: refused (%v)", data, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", data, diff)
		}
	}
}

func TestTheScannerRefusesWhatIsNoJSON(t *testing.T) {
	for _, data := range []string{
		``, ` `, `"`, `"abc`, `"12345678`, `"\`, `"\u12`, `"\u12g4"`, `"\x"`, "\"\n\"", "\"1234567\x00\"", "\"12345678\x1f\"", `{`, `{"a"`, `{"a":`,
		`{"a":1`, `{"a":1,}`, `{"a" 1}`, `{a:1}`, `{1:1}`, `[`, `[1`, `[1,]`, `[,1]`, `[1 2]`, `01`, `-`, `1.`, `.5`, `+1`, `1e`, `1e+`, `--1`,
		`tru`, `nul`, `falsee`, `1 2`, `{}{}`, "\x00", "1\x00", `NaN`, `[1}`, `{"a":1]`,
	} {
		s := scanner{data: []byte(data)}
		if v, ok := s.value(); ok && s.end() {
			t.Errorf("%q: taken as %v", data, v)
		}
		s = scanner{data: []byte(data)}
		if s.skip() && s.end() {
			t.Errorf("%q: skipped", data)
		}
	}
}

// What the scanner leaves to encoding/json is read all the same.
func TestWhatTheScannerLeavesIsParsed(t *testing.T) {
	for _, data := range []string{"\"a\xffb\"", "{\"\xff\":1}", strings.Repeat("[", 9000) + strings.Repeat("]", 9000)} {
		s := scanner{data: []byte(data)}
		if _, ok := s.value(); ok {
			t.Errorf("taken: %.20q", data)
		}
		got, err := parse([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		want, err := parseByStandard([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got)); diff != "" {
			t.Error(diff)
		}
	}
}

// FuzzReads holds what reads messages of the host to encoding/json.
func FuzzReads(f *testing.F) {
	f.Add([]byte(`{"v":1,"id":"c","tool":"echo","arguments":{"x":["hi"]},"config":null,"deadline_ms":10,"run":{"id":"r","step":1}}`))
	f.Add([]byte(`{"V":1,"run":{"id":"a"},"run":{"step":2},"arguments": 1 }`))
	f.Add([]byte(`{"v":null,"deadline_ms":9223372036854775807,"run":null,"tool":1}`))
	f.Add([]byte(`{"status":200,"url":"https://a/","headers":{"a":"b","a":"c"},"body":"aGVs\nbG8="}`))
	f.Add([]byte(`{"status":2e2,"headers":null,"body":"aGVsbG8","error":{"code":"denied","message":"no"}}`))
	f.Add([]byte(`{"status":0,"url":"","headers":{},"body":"","error":{"code":"denied","message":"no"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		reads(t, data, readRequest)
		reads(t, data, readHTTPResponse)
	})
}

func reads[T any](t *testing.T, data []byte, read func([]byte) (T, error)) {
	var want T
	wrong := json.Unmarshal(data, &want)
	got, err := read(data)
	if fmt.Sprint(err) != fmt.Sprint(wrong) {
		t.Fatalf("got %v, want %v: %q", err, wrong, data)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

// FuzzWrites holds what writes responses to encoding/json.
func FuzzWrites(f *testing.F) {
	f.Add("a <b>\n\"\\\t\x01é", []byte(`{"a":[1,"\u2028"]}`), "", "", int64(0), false)
	f.Add("", []byte(`{ "a": 1}`), "input", "no \u2028", int64(7), true)
	f.Add("a\xffb", []byte(nil), "k\"", "\x7f\b\f\r", int64(-1), true)
	f.Add("text", []byte(`{`), "", "", int64(0), false)
	f.Fuzz(func(t *testing.T, text string, structured []byte, kind, message string, retry int64, isError bool) {
		r := abi.Response{V: 1, Result: abi.Result{
			Content:           []abi.Content{{Type: "text", Text: text}, {Type: kind}},
			StructuredContent: structured,
			IsError:           isError,
		}}
		writes(t, &r)
		r.Content = nil
		r.Error = &abi.Error{Kind: abi.ErrorKind(kind), Message: message, RetryAfterMS: retry}
		writes(t, &r)
		r.Content = []abi.Content{}
		writes(t, &r)
	})
}

func writes(t *testing.T, r *abi.Response) {
	want, wrong := marshal(r)
	got, err := writeResponse(r)
	if fmt.Sprint(err) != fmt.Sprint(wrong) {
		t.Fatalf("got %v, want %v", err, wrong)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Fatal(diff)
	}
}

func TestTextsAreWrittenWithoutEncodingJSON(t *testing.T) {
	res := abi.Result{Content: []abi.Content{{Type: "text", Text: "a \"é\"\n"}}, StructuredContent: json.RawMessage(`{"a":" "}`)}
	for _, r := range []*abi.Response{{V: 1, Result: res}, {V: 1, Error: &abi.Error{Kind: abi.Input, Message: "no"}}} {
		if _, ok := appendResponse(r); !ok {
			t.Errorf("left to encoding/json: %+v", r)
		}
		writes(t, r)
	}
}
