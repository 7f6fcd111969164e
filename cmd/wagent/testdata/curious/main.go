// Curious is a module whose tool wants to know what the host sends for it.
package main

import "github.com/wagent-dev/wagent/sdk"

// Config is where it asks.
type Config struct {
	URL string `json:"url"`
}

// Found is what it got to know.
type Found struct {
	Exists bool   `json:"exists"`
	Page   string `json:"page"`
}

func main() {}

func init() {
	sdk.Tool("look", "Has a page tell what was sent.", func(c *sdk.Call, _ struct{}) (f Found, err error) {
		var config Config
		if err = c.Config(&config); err != nil {
			return f, err
		}
		if f.Exists, err = sdk.SecretExists(c, "TOKEN"); err != nil {
			return f, err
		}
		res, err := sdk.Get(c, config.URL)
		if err != nil {
			return f, err
		}
		f.Page = string(res.Body)
		c.Warnf("the page says: %s", f.Page)
		return f, nil
	})
}
