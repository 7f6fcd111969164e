//go:build !wasip1

package sdk

import (
	"encoding/json"

	"github.com/wagent-dev/wagent/sdk/abi"
)

func hostHTTP(c *Call, req []byte) ([]byte, error) {
	if c.host.Host == nil || c.host.HTTP == nil {
		return nil, abi.ErrDenied
	}
	var r abi.HTTPRequest
	if err := json.Unmarshal(req, &r); err != nil {
		return nil, abi.ErrInvalid
	}
	res := c.host.HTTP(&r)
	if res == nil {
		return nil, abi.ErrUnavailable
	}
	return json.Marshal(res)
}
