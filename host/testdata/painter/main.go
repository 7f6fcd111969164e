// Painter is a module whose tool returns an image, a file that is text, and what no
// model can be shown.
package main

import (
	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

func main() {}

func init() {
	sdk.Tool("paint", "Paints a picture.", func(*sdk.Call, struct{}) (abi.Result, error) {
		return abi.Result{Content: []abi.Content{
			{Type: "text", Text: "painted"},
			{Type: "image", MIMEType: "image/png", Data: []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;")},
			{Type: "resource", Resource: &abi.Resource{URI: "notes.csv", MIMEType: "text/csv", Blob: []byte("a,b")}},
			{Type: "image", MIMEType: "image/png", Data: []byte("no image")},
		}}, nil
	})
}
