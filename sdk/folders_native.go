//go:build !wasip1

package sdk

import "slices"

func hostFolders(c *Call) []string {
	if c.host.Host == nil {
		return nil
	}
	return slices.Clone(c.host.Folders)
}
