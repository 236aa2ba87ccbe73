package config

import "bytes"

// Rewrite replaces what the file at path says by what edit makes of it, which gets it without a byte order mark. It
// writes as AddRule does, and writes nothing where edit changes nothing or fails. What comes out must be readable as a
// configuration. edit is called again where another program saved the file meanwhile.
func Rewrite(path string, edit func(old []byte) ([]byte, error)) (changed bool, err error) {
	return editFile(path, func(d *document, again bool) ([]change, error) {
		if again {
			return nil, nil
		}
		content, err := edit(bytes.Clone(d.data))
		if err != nil || bytes.Equal(content, d.data) {
			return nil, err
		}
		return []change{{0, len(d.data), string(content)}}, nil
	})
}
