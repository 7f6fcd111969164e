//go:build !wasip1

package sdk

import (
	"github.com/wagent-dev/wagent/sdk/abi"
	"github.com/wagent-dev/wagent/sdk/internal/native"
)

// host is what package sdktest puts in the sandbox's place.
type host struct{ *native.Host }

// ServeNative answers one request in a program that is no module. It is what
// package sdktest is made of, and only code of this module can call it.
func ServeNative(h *native.Host, request []byte) []byte {
	return registered.serve(host{h}, request)
}

// DescribeNative returns the description of the registered tools, and what is
// wrong with those that are not in it. It is what package sdktest is made of.
func DescribeNative() ([]byte, []error) {
	return registered.describe()
}

func hostLog(c *Call, level abi.Level, message string) {
	if c.host.Host != nil && c.host.Log != nil {
		c.host.Log(level, message)
	}
}

func hostProgress(c *Call, permille int, message string) {
	if c.host.Host != nil && c.host.Progress != nil {
		c.host.Progress(permille, message)
	}
}
