package config

// Rules returns a file of rules as the content of a configuration. One that holds what stands under permissions alone is
// put there; lines stay where they are. name is what messages call it; a file that can't be read is a *Problem.
func Rules(name string, data []byte) ([]byte, error) {
	doc, err := parseDocument(name, data)
	if err != nil {
		return nil, err
	}
	for _, known := range rootFields {
		if known != "$schema" && doc.has(known) {
			return data, nil
		}
	}
	for _, known := range permissionFields {
		if doc.has(known) {
			return append(append([]byte(`{"permissions":`), data...), "\n}"...), nil
		}
	}
	return data, nil
}
