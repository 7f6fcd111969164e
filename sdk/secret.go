package sdk

// SecretExists says whether the manifest has a secret of that name for this
// module. There is no way to read one: the host adds its value to the requests
// it is meant for.
func SecretExists(c *Call, name string) (bool, error) {
	ok, err := hostSecretExists(c, name)
	if err != nil {
		return false, refused("secret "+name, err)
	}
	return ok, nil
}
