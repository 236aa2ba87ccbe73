//go:build !linux

package keyring

import "errors"

func reachable() error { return nil }

func names() ([]string, error) {
	return nil, errors.New("the names can't be listed on this system; look into the system's own list of passwords for usher")
}
