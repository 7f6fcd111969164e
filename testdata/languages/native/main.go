// Native does what word_count does, as a program: arguments on standard input,
// the answer on standard output.
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/wagent-dev/wagent/testdata/languages/counting"
)

func main() {
	var a counting.Args
	if err := json.NewDecoder(os.Stdin).Decode(&a); err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(counting.Count(a.Text)); err != nil {
		log.Fatal(err)
	}
}
