// Fetch is a module that uses every import of the host.
package main

import (
	"encoding/json"

	"github.com/wagent-dev/wagent/sdk"
)

// Args is what fetch is called with.
type Args struct {
	URL string `json:"url"`
}

// Found is what probe found.
type Found struct {
	Folders []string `json:"folders"`
	Secret  bool     `json:"secret"`
	Keys    []string `json:"keys"`
	State   string   `json:"state"`
}

func main() {}

func init() {
	sdk.Tool("fetch", "Gets a page.", fetch)
	sdk.Tool("probe", "Uses what is not HTTP.", probe)
}

func fetch(c *sdk.Call, a Args) (string, error) {
	c.Infof("getting %s", a.URL)
	c.Progress(1, 2, "asking")
	res, err := sdk.Get(c, a.URL)
	if err != nil {
		return "", err
	}
	return string(res.Body), nil
}

func probe(c *sdk.Call, _ json.RawMessage) (f Found, err error) {
	f.Folders = sdk.Folders(c)
	if f.Secret, err = sdk.SecretExists(c, "token"); err != nil {
		return f, err
	}
	if err = sdk.KVSet(c, "seen", []byte("1")); err != nil {
		return f, err
	}
	if _, err = sdk.KVGet(c, "seen"); err != nil {
		return f, err
	}
	if f.Keys, err = sdk.KVList(c, "se"); err != nil {
		return f, err
	}
	if err = sdk.KVDelete(c, "seen"); err != nil {
		return f, err
	}
	return f, sdk.StateGet(c, "topic", &f.State)
}
