package sandbox

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host/policy"
)

// What the library of a real guest says when the host refuses.
func TestSystemRefusalsAreExplainedByTheGuestsLibrary(t *testing.T) {
	_, grant := folders(t)
	e := newEngine(t)
	files := func(l policy.FileLimits) func(*Source) {
		return func(s *Source) {
			grant(s)
			s.Policy.Limits.Files = l
		}
	}
	plenty := policy.Default().Limits.Files
	for _, tc := range []struct {
		limits           policy.FileLimits
		tool, path, says string
	}{
		{plenty, "write", "/docs/new.txt", "Read-only file system"},
		{plenty, "tree", "/docs", "Read-only file system"},
		{policy.FileLimits{Bytes: 3, Count: 1, Open: 1}, "write", "/out/new.txt", "No space left on device"},
		{policy.FileLimits{Bytes: 3, Count: 0, Open: 1}, "write", "/out/other.txt", "No space left on device"},
		{policy.FileLimits{Bytes: 3, Count: 1, Open: 0}, "read", "/docs/a.txt", "Too many open files"},
		{plenty, "read", "/docs/link", "Permission denied"},
		{plenty, "readlink", "/docs/link", "Operation not permitted"},
		{plenty, "readlink", "/docs/a.txt", "Invalid argument"},
		{plenty, "link", "/out/escape", "Operation not permitted"},
	} {
		arg, err := json.Marshal(tc.path)
		if err != nil {
			t.Fatal(err)
		}
		out := load(t, e, guestSource(t), files(tc.limits)).Call(t.Context(), Call{Tool: tc.tool, Arguments: arg})
		if out.Fault != "" || !out.Result.IsError || !strings.Contains(said(out), tc.says) {
			t.Errorf("%s %s: %q %q, want %q", tc.tool, tc.path, out.Fault, said(out), tc.says)
		}
	}
}
