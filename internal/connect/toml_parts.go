package connect

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// part is a line, or a few, that say one thing of a TOML file: the header of a table, or a key with its value.
type part struct {
	header     bool
	path       []string // with that of its table
	start, end int      // whole lines
}

// tomlParts finds them, in their order. Comments and empty lines behind one are none of it.
func tomlParts(data []byte) (parts []part) {
	skip := 0
	if bytes.HasPrefix(data, utf8BOM) {
		skip = len(utf8BOM)
	}
	p := unstable.Parser{KeepComments: true}
	p.Reset(data[skip:])
	var table []string
	var starts []int // of everything, comments too
	for p.NextExpression() {
		e := p.Expression()
		at := int(e.Raw.Offset)
		var keys []string
		if e.Kind != unstable.Comment {
			for it := e.Key(); it.Next(); {
				if len(keys) == 0 {
					at = int(it.Node().Raw.Offset)
				}
				keys = append(keys, string(it.Node().Data))
			}
		}
		at = skip + lineStart(data[skip:], at)
		starts = append(starts, at)
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = keys
			parts = append(parts, part{header: true, path: keys, start: at})
		case unstable.KeyValue:
			parts = append(parts, part{path: slices.Concat(table, keys), start: at})
		}
	}
	for i := range parts {
		n := slices.Index(starts, parts[i].start)
		end := len(data)
		if n+1 < len(starts) {
			end = starts[n+1]
		}
		parts[i].end = parts[i].start + withoutBlankEnd(data[parts[i].start:end])
	}
	return parts
}

func lineStart(data []byte, at int) int { return 1 + bytes.LastIndexByte(data[:at], '\n') }

// withoutBlankEnd is the length of text without the empty lines at its end.
func withoutBlankEnd(text []byte) int {
	n := len(bytes.TrimRight(text, " \t\r\n"))
	if i := bytes.IndexByte(text[n:], '\n'); i >= 0 {
		return n + i + 1
	}
	return len(text)
}

// within are the parts at a path and below.
func within(parts []part, path []string) (which []int) {
	for i, p := range parts {
		if len(p.path) >= len(path) && slices.Equal(p.path[:len(path)], path) {
			which = append(which, i)
		}
	}
	return which
}

// first is where the first part at a path is.
func first(parts []part, path []string) int {
	if which := within(parts, path); len(which) > 0 {
		return parts[which[0]].start
	}
	return -1
}

// sectionEnd is where the last key of the table ends that the part is in.
func (p part) sectionEnd(parts []part, i int) int {
	for i++; i < len(parts) && !parts[i].header; i++ {
		p = parts[i]
	}
	return p.end
}

// textOf is an entry as it stands in the file, as splice would take it out.
func textOf(data []byte, parts []part, path []string) string {
	var b strings.Builder
	which := within(parts, path)
	for i, n := range which {
		if start := parts[n].start; i > 0 && which[i-1] == n-1 {
			b.Write(data[parts[n-1].end:start])
		}
		b.Write(data[parts[n].start:parts[n].end])
	}
	return b.String()
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func tomlKey(name string) string {
	if bareKey.MatchString(name) {
		return name
	}
	return tomlString(name)
}

// tomlString is a basic string; JSON escapes all that TOML wants escaped but for one character.
func tomlString(s string) string { return strings.ReplaceAll(jsonText(s), "\x7f", `\u007F`) }

func tomlValue(v any) string {
	switch v := v.(type) {
	case string:
		return tomlString(v)
	case []string:
		var all []string
		for _, s := range v {
			all = append(all, tomlString(s))
		}
		return "[" + strings.Join(all, ", ") + "]"
	case map[string]string:
		var fields []field
		for _, name := range slices.Sorted(maps.Keys(v)) {
			fields = append(fields, field{name, v[name]})
		}
		return tomlInline(fields)
	}
	return fmt.Sprint(v)
}

func tomlInline(fields []field) string {
	var all []string
	for _, f := range fields {
		all = append(all, tomlKey(f.name)+" = "+tomlValue(f.value))
	}
	return "{ " + strings.Join(all, ", ") + " }"
}
