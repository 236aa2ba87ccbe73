//go:build !linux

package wake

import "errors"

func openNetwork() (network, error) { return nil, errors.ErrUnsupported }
