package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

const (
	// maxFile is how many bytes of a file are read.
	maxFile = 4 << 20
	// maxValue is how many bytes of a value are returned: it is there twice,
	// as text and as structured content.
	maxValue = 200 << 10
	// maxDepth is how deep a value may be nested that is returned.
	maxDepth = 64
)

// arguments are what the tool is called with.
type arguments struct {
	JSON *string `json:"json"`
	File string  `json:"file"`
	Path string  `json:"path"`
}

// serve answers one call.
func serve(raw json.RawMessage) response {
	r, err := answer(raw)
	if err == nil {
		return r
	}
	f := new(fault)
	if !errors.As(err, &f) {
		f = faultf("internal", "%v", err)
	}
	return response{V: 1, Error: f}
}

func answer(raw json.RawMessage) (response, error) {
	var a arguments
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return response{}, faultf("input", "arguments: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	steps, err := parsePath(a.Path)
	if err != nil {
		return response{}, err
	}
	doc, err := document(a)
	if err != nil {
		return response{}, err
	}
	found, many, err := pick(doc, steps)
	if err != nil {
		return response{}, err
	}
	var v value
	if n := len(found); many {
		v = value{list(found), &n}
	} else {
		v = value{Value: found[0]}
	}
	if len(v.Value) > maxValue {
		return response{}, faultf("input", "the value has %d bytes, at most %d are returned: pick a part of it; it is %s", len(v.Value), maxValue, outline(v.Value))
	}
	if n := depth(v.Value); n > maxDepth {
		return response{}, faultf("input", "the value is nested %d deep, at most %d are returned: pick a part of it", n, maxDepth)
	}
	return response{V: 1, Content: []part{{"text", plain(v.Value)}}, Structured: &v}, nil
}

// document returns the JSON that is looked into.
func document(a arguments) (json.RawMessage, error) {
	var doc []byte
	switch {
	case a.JSON != nil && a.File != "":
		return nil, faultf("input", "give json or file, not both")
	case a.JSON != nil:
		doc = []byte(*a.JSON)
	case a.File != "":
		var err error
		if doc, err = readFile(a.File); err != nil {
			return nil, err
		}
	default:
		return nil, faultf("input", "give the document as json, or a file that holds it")
	}
	doc = bytes.TrimPrefix(doc, []byte("\xef\xbb\xbf"))
	if !json.Valid(doc) {
		return nil, notJSON(doc)
	}
	return bytes.TrimSpace(doc), nil
}

// notJSON says where a document stops being JSON.
func notJSON(doc []byte) error {
	err := json.Unmarshal(doc, new(json.RawMessage))
	var s *json.SyntaxError
	if !errors.As(err, &s) {
		return faultf("input", "the document is not JSON: %v", err)
	}
	before := doc[:min(max(s.Offset-1, 0), int64(len(doc)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return faultf("input", "the document is not JSON: line %d, column %d: %v", line, column, err)
}

// readFile reads a file of a granted folder. That others cannot be opened is the
// host's doing: this program has no way to.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, unread(name, err)
	}
	defer func() { _ = f.Close() }() // it was read only: nothing can be lost
	var b bytes.Buffer
	if info, err := f.Stat(); err == nil {
		b.Grow(int(min(info.Size(), maxFile)) + bytes.MinRead) // so that it need not grow again and again
	}
	_, err = b.ReadFrom(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, unread(name, err)
	}
	data := b.Bytes()
	if len(data) > maxFile {
		return nil, faultf("input", "%q has more than %d bytes, which is the most this tool reads", name, maxFile)
	}
	return data, nil
}

// unread says why a file cannot be read. For a path outside of what was granted
// WASI has no better error than a bad file number.
func unread(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return faultf("not_found", "there is no file %q", name)
	}
	if p := new(fs.PathError); errors.As(err, &p) {
		err = p.Err
	}
	return faultf("auth_required", "%q cannot be read (%v): if its folder is not granted, add allow: {read: {./data: /data}} to the tool in the manifest", name, err)
}

// plain is a value as a model reads it: a string without its quotes, else JSON.
func plain(v json.RawMessage) string {
	var s string
	if len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}
