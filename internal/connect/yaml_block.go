package connect

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// block is the mapping of the entries in a YAML file.
type block struct {
	data         []byte
	nl           string
	lines        []int // offset of the start of each line, and the end
	spans        []span
	indent, step int    // of an entry's name, and of its fields further in
	at           int    // where a new entry goes
	head         string // what goes before the first one
	key          *yaml.Node
	empty        *yaml.Node // {} in place of a block
}

// span is an entry, in whole lines.
type span struct {
	name       string
	start, end int
	value      *yaml.Node
}

// otherBreaks end a line for YAML, but not here.
var otherBreaks = regexp.MustCompile(`\r(?:[^\n]|$)|[\x{85}\x{2028}\x{2029}]`)

func findBlock(data []byte, key string) (*block, error) {
	if otherBreaks.Match(data) {
		return nil, errByHand
	}
	b := &block{data: data, nl: newline(data), indent: 2, step: 2, at: len(data)}
	for i := range data {
		if i == 0 || data[i-1] == '\n' {
			b.lines = append(b.lines, i)
		}
	}
	b.lines = append(b.lines, len(data))
	b.head = key + ":" + b.nl
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return b, nil // empty; what is no mapping is refused by decode
	}
	if doc.Content[0].Style&yaml.FlowStyle != 0 {
		return nil, errByHand
	}
	pairs := doc.Content[0].Content
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i].Value == key {
			end := len(data)
			if i+2 < len(pairs) {
				end = b.lineOf(pairs[i+2])
			}
			return b, b.fill(pairs[i], pairs[i+1], end)
		}
	}
	return b, nil
}

func (b *block) lineOf(n *yaml.Node) int { return b.lines[n.Line-1] }

// fill finds the entries. end is where the next key of the file is.
func (b *block) fill(key, value *yaml.Node, end int) error {
	b.key, b.head = key, ""
	next := b.lines[key.Line] // of the line behind the key's
	switch {
	case value.Tag == "!!null" && value.Value == "":
		b.at = next
		return nil
	case value.Kind != yaml.MappingNode || value.Style&yaml.FlowStyle != 0 && len(value.Content) > 0:
		return errByHand
	case len(value.Content) == 0:
		b.empty, b.at = value, next
		return nil
	}
	b.indent = value.Content[0].Column - 1
	for i := 0; i < len(value.Content); i += 2 {
		stop := end
		if i+2 < len(value.Content) {
			stop = b.lineOf(value.Content[i+2])
		}
		name, content := value.Content[i], value.Content[i+1]
		start := b.lineOf(name)
		b.spans = append(b.spans, span{name.Value, start, start + b.ofEntry(b.data[start:stop]), content})
		if i == 0 && content.Kind == yaml.MappingNode && content.Style&yaml.FlowStyle == 0 && len(content.Content) > 0 {
			b.step = max(1, content.Content[0].Column-1-b.indent)
		}
	}
	b.at = b.spans[len(b.spans)-1].end
	return nil
}

// ofEntry is how much of text belongs to the entry that begins there: not the comments and empty lines behind it, unless
// they are as far in as its fields.
func (b *block) ofEntry(text []byte) int {
	n, length := 0, 0
	for line := range bytes.Lines(text) {
		n += len(line)
		content := bytes.TrimLeft(line, " ")
		isComment, isBlank := bytes.HasPrefix(content, []byte("#")), len(bytes.TrimSpace(line)) == 0
		if !isBlank && (!isComment || len(line)-len(content) > b.indent) {
			length = n
		}
	}
	return length
}

func (b *block) replace(s span, text string) []byte {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += b.nl
	}
	if text == "" && len(b.spans) == 1 { // a key without a value would be null
		key := b.lineOf(b.key)
		line := bytes.TrimRight(b.data[key:b.lines[b.key.Line]], "\r\n")
		if colon := bytes.IndexByte(line, ':'); colon >= 0 {
			colon += key + 1
			return slices.Concat(b.data[:colon], []byte(" {}"), b.data[colon:s.start], b.data[s.end:])
		}
	}
	return slices.Concat(b.data[:s.start], []byte(text), b.data[s.end:])
}

// add puts an entry behind the others.
func (b *block) add(text string) []byte {
	data, at := b.data, b.at
	if !strings.HasSuffix(text, "\n") {
		text += b.nl
	}
	if b.empty != nil {
		from := b.lineOf(b.empty) + b.empty.Column - 1
		if bytes.HasPrefix(data[from:], []byte("{}")) {
			start := from - (len(data[:from]) - len(bytes.TrimRight(data[:from], " ")))
			data, at = slices.Concat(data[:start], data[from+2:]), at-(from+2-start)
		}
	}
	if at > 0 && data[at-1] != '\n' {
		text = b.nl + b.head + text
	} else {
		text = b.head + text
	}
	return slices.Concat(data[:at], []byte(text), data[at:])
}

// set changes lines of an entry.
func (b *block) set(s span, fields []field) ([]byte, error) {
	if s.value.Kind != yaml.MappingNode || s.value.Style&yaml.FlowStyle != 0 {
		return nil, errByHand
	}
	data := b.data
	for _, f := range slices.Backward(fields) {
		var err error
		if data, err = b.setField(data, s, f); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// setField works on what earlier calls made of the file.
func (b *block) setField(data []byte, s span, f field) ([]byte, error) {
	now, err := findBlock(data, b.key.Value)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(now.spans, func(o span) bool { return o.name == s.name })
	s = now.spans[i]
	pairs := s.value.Content
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i].Value != f.name {
			continue
		}
		start, end := now.lineOf(pairs[i]), s.end
		if i+2 < len(pairs) {
			end = now.lineOf(pairs[i+2])
		}
		inner := &block{indent: pairs[i].Column - 1}
		end = start + inner.ofEntry(now.data[start:end])
		return slices.Concat(data[:start], []byte(now.line(pairs[i].Column-1, f)), data[end:]), nil
	}
	start := now.lines[slices.Index(now.lines, s.start)+1]
	return slices.Concat(data[:start], []byte(now.line(now.indent+now.step, f)), data[start:]), nil
}
