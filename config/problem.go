package config

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Problem is one mistake in a file: where it is and what to do about it. It
// never holds a value from the file or from a variable.
type Problem struct {
	File         string
	Line, Column int    // from 1; Column counts characters
	Field        string // such as mcpServers.fs.args[1]; "" for broken JSON
	Message      string
}

var _ error = (*Problem)(nil)

// Error returns "file:line: field: message", or "file:line:column: message"
// where there is no field.
func (p Problem) Error() string {
	if p.Field == "" {
		return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
	}
	return fmt.Sprintf("%s:%d: %s: %s", p.File, p.Line, p.Field, p.Message)
}

func comparePlace(a, b Problem) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

func compareStrings(a, b string) int { return cmp.Compare(a, b) }

// member returns the path of the field name inside the field parent.
func member(parent, name string) string {
	if !plainName(name) {
		return parent + "[" + quoteName(name) + "]"
	}
	if parent == "" {
		return name
	}
	return parent + "." + name
}

// element returns the path of the i-th element of the field parent.
func element(parent string, i int) string { return parent + "[" + strconv.Itoa(i) + "]" }

// quoteName shows a name without letting it reach the terminal raw or fill it.
func quoteName(name string) string {
	const most = 64
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return strconv.Quote(name)
}

func plainName(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	for _, c := range []byte(name) {
		if !isWord(c) && c != '-' && c != '$' {
			return false
		}
	}
	return true
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
