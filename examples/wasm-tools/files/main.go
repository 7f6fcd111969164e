// Files is four tools over the folders that the module is granted: list, read,
// search and write.
package main

import (
	"github.com/wagent-dev/wagent/sdk"
)

// ListArgs are the arguments of list_files.
type ListArgs struct {
	Path      string `json:"path,omitempty" doc:"a folder; the granted folders if empty"`
	Recursive bool   `json:"recursive,omitempty" doc:"list what is in the folders of the folder too"`
}

// ReadArgs are the arguments of read_file.
type ReadArgs struct {
	Path  string `json:"path" doc:"the file"`
	Start int    `json:"start" doc:"first line to return" min:"1" default:"1"`
	Lines int    `json:"lines" doc:"most lines to return" min:"1" max:"5000" default:"500"`
}

// SearchArgs are the arguments of search_files.
type SearchArgs struct {
	Path    string `json:"path,omitempty" doc:"a folder or file; the granted folders if empty"`
	Pattern string `json:"pattern" doc:"the text to look for" min:"1" max:"500"`
	Regexp  bool   `json:"regexp,omitempty" doc:"the pattern is a regular expression (RE2)"`
	Exact   bool   `json:"case_sensitive,omitempty" doc:"upper and lower case differ"`
	Name    string `json:"name,omitempty" doc:"look only in files whose name fits, such as *.txt"`
	Limit   int    `json:"limit" doc:"most lines to return" min:"1" max:"1000" default:"100"`
}

// WriteArgs are the arguments of write_file.
type WriteArgs struct {
	Path      string `json:"path" doc:"the file, in a folder that is granted for writing"`
	Content   string `json:"content" doc:"the text to write"`
	Append    bool   `json:"append,omitempty" doc:"add to the end of the file"`
	Overwrite bool   `json:"overwrite,omitempty" doc:"replace a file that is there; else that is an error"`
}

func main() {}

func init() {
	asks := sdk.Requests{Read: []string{"/data"}, Reason: "works on the files it is asked about"}
	sdk.Tool("list_files", "Lists the files and folders in a granted folder.", listFiles, sdk.ReadOnly(), sdk.Idempotent(), asks)
	sdk.Tool("read_file", "Returns lines of a text file in a granted folder.", readFile, sdk.ReadOnly(), sdk.Idempotent(), asks)
	sdk.Tool("search_files", "Finds the lines that hold a text, in the files of the granted folders.", searchFiles, sdk.ReadOnly(), sdk.Idempotent(), asks)
	sdk.Tool("write_file", "Writes a text file in a folder that is granted for writing.", writeFile, sdk.Destructive(),
		sdk.Requests{Write: []string{"/out"}, Reason: "writes the files it is asked for"})
}
