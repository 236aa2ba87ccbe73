package config

import (
	"errors"
	"strings"
	"unicode"
)

const (
	keyringPrefix = "${keyring:"
	maxSecretName = 128
)

// CheckSecretName says why ${keyring:name} can't have the name, or nil.
func CheckSecretName(name string) error {
	if name == "" || len(name) > maxSecretName || strings.ContainsFunc(name, notInSecretName) {
		return errors.New("the name of a secret has 1 to 128 letters, digits and . _ - / @, such as github-token")
	}
	return nil
}

func notInSecretName(c rune) bool {
	return c > unicode.MaxASCII || !isWord(byte(c)) && !strings.ContainsRune("._-/@", c)
}

// parseKeyring reads the reference that s starts with. The name may be one that nothing can have.
func parseKeyring(s string) (raw, name string, ok bool) {
	rest, ok := strings.CutPrefix(s, keyringPrefix)
	if !ok {
		return "", "", false
	}
	name, _, ok = strings.Cut(rest, "}")
	return s[:len(keyringPrefix)+len(name)+1], name, ok
}

// secret looks a name up and notes what came of it.
func (x *expanded) secret(raw, name string, lookUp func(string) (string, string, bool)) string {
	value, wrong, use := lookUp(name)
	switch {
	case !use:
		return raw
	case wrong != "":
		x.keyring = append(x.keyring, wrong)
		return raw
	}
	x.secrets = append(x.secrets, value)
	return value
}

// lookUp asks the keyring. An entry that doesn't run has no need of what is in there.
func (e *expander) lookUp(name string) (value, wrong string, use bool) {
	if e.lenient {
		return "", "", false
	}
	if err := CheckSecretName(name); err != nil {
		return "", err.Error() + "; write ${keyring:github-token}", true
	}
	v, asked := e.kept[name]
	if !asked {
		v.value, v.err = e.fromKeyring(name)
		e.kept[name] = v
	}
	if v.err != nil {
		return "", "the secret " + name + " can't be had: " + oneLine(v.err.Error()) + "; run: usher secret set " + name, true
	}
	return v.value, "", true
}

func (e *expander) fromKeyring(name string) (string, error) {
	if e.from.Keyring == nil {
		return "", errors.New("there is no keyring here")
	}
	v, err := e.from.Keyring(name)
	if err == nil && strings.ContainsRune(v, 0) {
		return "", errors.New("it has a NUL character, which can't be passed on")
	}
	return v, err
}

// kept is what the keyring has said of one name.
type kept struct {
	value string
	err   error
}

// oneLine is a message of others, short and printable.
func oneLine(s string) string {
	const most = 200
	s = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
