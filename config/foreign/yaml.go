package foreign

import (
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// maxYAML is how many values a file may come to once its aliases are followed.
const maxYAML = 200_000

// parseYAML reads the first document of a YAML file. The library bounds how deep it follows.
func parseYAML(text []byte) (root *node, err error) {
	defer func() { // what the library doesn't know how to say
		if recover() != nil {
			root, err = nil, notYAML(1)
		}
	}()
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil && !errors.Is(err, io.EOF) {
		b := notYAML(1)
		_, _ = fmt.Sscanf(err.Error(), "yaml: line %d:", &b.line)
		return nil, b
	}
	if len(doc.Content) == 0 {
		return &node{kind: isObject, line: 1}, nil
	}
	y := yamlReader{left: maxYAML}
	n := y.node(doc.Content[0], 0)
	if y.why != "" {
		return nil, &broken{line: y.line, why: y.why}
	}
	return n, nil
}

func notYAML(line int) *broken { return &broken{line: line, why: "this is not YAML; correct it there"} }

type yamlReader struct {
	left int
	why  string
	line int
}

func (y *yamlReader) fail(line int, why string) *node {
	if y.why == "" {
		y.why, y.line = why, line
	}
	return &node{line: line}
}

func (y *yamlReader) node(v *yaml.Node, depth int) *node {
	switch y.left--; {
	case y.why != "":
		return &node{}
	case depth > maxDepth:
		return y.fail(v.Line, "nested more than 128 deep")
	case y.left < 0:
		return y.fail(v.Line, "too many values, or too many aliases")
	}
	n := &node{line: v.Line}
	switch v.Kind {
	case yaml.AliasNode:
		return y.node(v.Alias, depth+1)
	case yaml.SequenceNode:
		n.kind = isList
		for _, c := range v.Content {
			n.items = append(n.items, y.node(c, depth+1))
		}
	case yaml.MappingNode:
		n.kind = isObject
		for i := 0; i+1 < len(v.Content); i += 2 {
			key, value := v.Content[i], y.node(v.Content[i+1], depth+1)
			if key.Tag == "!!merge" && value.kind == isObject {
				n.members = append(n.members, value.members...)
				continue
			}
			n.members = append(n.members, member{key.Value, key.Line, value})
		}
	case yaml.ScalarNode:
		n.kind, n.text = scalar(v)
	}
	return n
}

func scalar(v *yaml.Node) (kind, string) {
	switch v.ShortTag() {
	case "!!null":
		return isNull, ""
	case "!!bool":
		var b bool
		if v.Decode(&b) == nil && b {
			return isBool, "true"
		}
		return isBool, "false"
	case "!!int", "!!float":
		return isNumber, v.Value
	}
	return isText, v.Value
}
