package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/wagent-dev/wagent/host/visible"
)

// scaffold is what init writes. The module in it is built of the C file beside
// it by scaffold/build.sh.
//
//go:embed scaffold/wagent.yaml scaffold/recording.jsonl scaffold/gitignore scaffold/tools/word_count.c scaffold/tools/word_count.wasm
var scaffold embed.FS

// gitignore is the one file of a project that may be there already: most who have
// a project have one.
const gitignore = ".gitignore"

// scaffolded maps the files of a new project to those of the scaffold.
func scaffolded() [][2]string {
	return [][2]string{
		{"wagent.yaml", "scaffold/wagent.yaml"},
		{"recording.jsonl", "scaffold/recording.jsonl"},
		{gitignore, "scaffold/gitignore"},
		{"tools/word_count.c", "scaffold/tools/word_count.c"},
		{"tools/word_count.wasm", "scaffold/tools/word_count.wasm"},
	}
}

func newInit(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "init [DIR]", Short: "Write a manifest and an example tool that run at once",
		Long: "init writes a manifest, an example tool with its source and a .gitignore into DIR, or\n" +
			"here. It overwrites nothing; of a .gitignore that is there it says what to add.\n\n" +
			"The example tool is written in C, without an SDK, so that it is small and shows all\n" +
			"that a tool is; its source says how to build it. Tools in Go are shorter: see\n" +
			"https://github.com/wagent-dev/wagent/tree/main/sdk.",
		Args: atMostOne,
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return a.scaffold(dir)
		},
	}
}

func (a *app) scaffold(dir string) error {
	files := scaffolded()
	keep := exists(filepath.Join(dir, gitignore))
	if keep {
		files = slices.DeleteFunc(files, func(f [2]string) bool { return f[0] == gitignore })
	}
	if i := slices.IndexFunc(files, func(f [2]string) bool { return exists(filepath.Join(dir, f[0])) }); i >= 0 {
		return fmt.Errorf("%s is there already: nothing was written", filepath.Join(dir, files[i][0]))
	}
	for _, f := range files {
		if err := copyOut(filepath.Join(dir, filepath.FromSlash(f[0])), f[1]); err != nil {
			return failed(err)
		}
		fmt.Fprintln(a.err, "wrote", visible.Line(filepath.Join(dir, f[0]), maxReason))
	}
	if keep {
		if err := a.unignored(filepath.Join(dir, gitignore)); err != nil {
			return failed(err)
		}
	}
	cd := ""
	if dir != "." {
		cd = fmt.Sprintf("cd %s && ", visible.Line(shellWord(dir), maxReason))
	}
	_, err := fmt.Fprintf(a.out, "Now try:\n  %swagent run \"How many words are in: to be or not to be?\"\n", cd)
	return err
}

// unignored says which lines of the scaffold a .gitignore does not have: all of
// them, if it cannot be read.
func (a *app) unignored(path string) error {
	lines, err := scaffold.ReadFile("scaffold/gitignore")
	if err != nil {
		return err
	}
	has, _ := readFile(path)
	var missing []string
	for line := range strings.Lines(string(lines)) {
		if line = strings.TrimSpace(line); !slices.Contains(strings.Fields(string(has)), line) {
			missing = append(missing, line)
		}
	}
	if len(missing) > 0 {
		fmt.Fprintf(a.err, "%s is left as it is: add to it %s\n", visible.Line(path, maxReason), strings.Join(missing, " and "))
	}
	return nil
}

// shellWord quotes a path where a shell would read it as something else.
func shellWord(path string) string {
	plain := func(r rune) bool {
		return r == '/' || r == '.' || r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	if !strings.ContainsFunc(path, func(r rune) bool { return !plain(r) }) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func copyOut(to, from string) error {
	data, err := scaffold.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
