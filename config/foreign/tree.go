package foreign

import (
	"slices"
	"strconv"
)

// kind is what a node is. TOML's dates are texts.
type kind int

const (
	isNull kind = iota
	isBool
	isNumber
	isText
	isList
	isObject
)

// node is a value of a file, whatever its syntax, with its line.
type node struct {
	kind    kind
	text    string // of a text, a number or a bool
	members []member
	items   []*node
	line    int // from 1
}

// member is a named value of an object. A name may occur twice; the first one counts.
type member struct {
	name  string
	line  int // of the name
	value *node
}

// get returns the value of a name, or nil. Of nil it is nil.
func (n *node) get(names ...string) *node {
	for _, name := range names {
		if n == nil {
			return nil
		}
		i := slices.IndexFunc(n.members, func(m member) bool { return m.name == name })
		if i < 0 {
			return nil
		}
		n = n.members[i].value
	}
	return n
}

func (n *node) is(k kind) bool { return n != nil && n.kind == k }

// true reports whether n is the literal true.
func (n *node) isTrue() bool { return n.is(isBool) && n.text == "true" }

func (n *node) isFalse() bool { return n.is(isBool) && n.text == "false" }

// texts are the texts of a list, or the one that n is.
func (n *node) texts() (all []string) {
	if n.is(isText) {
		return []string{n.text}
	}
	if !n.is(isList) {
		return nil
	}
	for _, i := range n.items {
		if i.is(isText) {
			all = append(all, i.text)
		}
	}
	return all
}

// join is the path of a field inside another.
func join(path, name string) string {
	plain := name != "" && len(name) <= 64
	for _, c := range []byte(name) {
		plain = plain && (isWord(c) || c == '-' || c == '$')
	}
	if !plain {
		if len(name) > 64 {
			name = name[:64]
		}
		return path + "[" + strconv.Quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
