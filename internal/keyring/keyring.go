// Package keyring keeps secrets where the operating system keeps those of the user: the Secret Service of the desktop
// (GNOME Keyring, KWallet, KeePassXC), the keychain of macOS, the credentials of Windows.
//
// It encrypts nothing itself, starts no keyring and no message bus, knows no configuration, and has no other place for a
// secret: where there is no keyring, there is an error.
package keyring

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zalando/go-keyring"
)

// ErrNotFound is for a name that the keyring doesn't have.
var ErrNotFound = errors.New("the keyring has no such secret")

const (
	// service is what all that usher keeps is filed under.
	service = "usher"
	// MaxSecret is the size of the largest secret in bytes; a keyring may take less.
	MaxSecret = 16 << 10
	// patience is how long a keyring may take, a person who types its password included.
	patience = time.Minute
)

// Ring is the user's keyring. It may be used by several goroutines at once. It never holds a secret longer than a call
// takes.
type Ring struct{ patience time.Duration }

// Open finds out whether there may be a keyring, without asking it anything: it says no where asking would start a message
// bus of its own.
func Open() (*Ring, error) {
	if err := reachable(); err != nil {
		return nil, err
	}
	return &Ring{patience}, nil
}

// Get returns a secret, or ErrNotFound. A keyring that is locked may ask the user for its password first; it fails after a
// minute. No error holds a secret.
func (r *Ring) Get(name string) (string, error) {
	return within(r.patience, func() (string, error) { return keyring.Get(service, name) })
}

// Set keeps a secret, of 1 to MaxSecret bytes, in the place of an older one.
func (r *Ring) Set(name, value string) error {
	if value == "" || len(value) > MaxSecret || strings.ContainsRune(value, 0) {
		return fmt.Errorf("a secret has 1 to %d bytes, and no NUL among them", MaxSecret)
	}
	_, err := within(r.patience, func() (string, error) { return "", keyring.Set(service, name, value) })
	return err
}

// Delete takes a secret out of the keyring, or returns ErrNotFound.
func (r *Ring) Delete(name string) error {
	_, err := within(r.patience, func() (string, error) { return "", keyring.Delete(service, name) })
	return err
}

// List returns the names of what Set has kept, sorted. It reads no secret.
func (r *Ring) List() ([]string, error) {
	names, err := within(r.patience, names)
	return names, err
}

// within bounds f, which can't be interrupted: it ends at the latest when the connection to the keyring does.
func within[T any](d time.Duration, f func() (T, error)) (value T, err error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		v, err := f()
		done <- answer{v, err}
	}()
	timeout := time.NewTimer(d)
	defer timeout.Stop()
	select {
	case a := <-done:
		return a.value, plain(a.err)
	case <-timeout.C:
		return value, errors.New("the keyring doesn't answer; it may wait for its password in a window")
	}
}

// plain says what a person can do about an error of the keyring.
func plain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, keyring.ErrNotFound):
		return ErrNotFound
	case errors.Is(err, keyring.ErrSetDataTooBig):
		return errors.New("the secret is larger than this keyring takes")
	case strings.Contains(err.Error(), "failed to unlock"):
		return errors.New("the keyring is locked; unlock it, by logging in on the desktop or with gnome-keyring-daemon --unlock")
	case strings.Contains(err.Error(), "org.freedesktop.secrets"), strings.Contains(err.Error(), "ServiceUnknown"):
		return errors.New("no keyring runs in this session; start one, such as gnome-keyring-daemon or KeePassXC")
	case strings.Contains(err.Error(), "does not exist"), strings.Contains(err.Error(), "NoSuchObject"):
		return errors.New("the keyring has no collection yet; make one, by logging in on the desktop or with gnome-keyring-daemon --unlock")
	}
	return fmt.Errorf("the keyring fails: %w", err)
}

// Lookup opens the keyring and gets one secret of it: for those who may need none.
func Lookup(name string) (string, error) {
	r, err := Open()
	if err != nil {
		return "", err
	}
	return r.Get(name)
}
