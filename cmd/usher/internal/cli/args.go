package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/usher-mcp/usher/mcp"
)

// input is what the command line says of a call's arguments.
type input struct {
	whole json.RawMessage // all of them
	pairs []pair
}

// pair is one argument.
type pair struct {
	key, value string
	isJSON     bool // written key:=JSON
}

func (a *app) readInput(args []string, raw string, given bool) (input, error) {
	if given {
		if len(args) > 0 {
			return input{}, usage(fmt.Sprintf("--args gives all arguments; %q is one too many", args[0]), "Write it into the JSON of --args, or leave out --args")
		}
		whole, err := a.readWhole(raw)
		return input{whole: whole}, err
	}
	var in input
	for _, arg := range args {
		p, err := parsePair(arg)
		if err != nil {
			return input{}, err
		}
		if slices.ContainsFunc(in.pairs, func(q pair) bool { return q.key == p.key }) {
			return input{}, usage(fmt.Sprintf("the argument %q is given twice", p.key), `Give a list as JSON: `+p.key+`:='["a", "b"]'`)
		}
		in.pairs = append(in.pairs, p)
	}
	return in, nil
}

func parsePair(arg string) (pair, error) {
	key, value, ok := strings.Cut(arg, "=")
	if !ok || key == "" {
		hint := "Or give all arguments as JSON: --args '{…}'"
		if strings.HasPrefix(arg, "{") {
			hint = "JSON goes behind --args"
		}
		return pair{}, usage(fmt.Sprintf("%q is no argument; write key=value", arg), hint)
	}
	key, isJSON := strings.CutSuffix(key, ":")
	return pair{key, value, isJSON}, nil
}

// readWhole reads what --args names: JSON, @file, or - for standard input.
func (a *app) readWhole(raw string) (json.RawMessage, error) {
	data, from := []byte(raw), "--args"
	switch {
	case raw == "-":
		from = "standard input"
		b, err := readBounded(a.in)
		if err != nil {
			return nil, usage("can't read standard input: "+err.Error(), "")
		}
		data = b
	case strings.HasPrefix(raw, "@"):
		from = raw[1:]
		f, err := os.Open(from)
		if err != nil {
			return nil, usage("can't read the arguments: "+err.Error(), "Behind @ there is the path of a file with JSON")
		}
		defer f.Close()
		if data, err = readBounded(f); err != nil {
			return nil, usage(fmt.Sprintf("can't read %s: %v", from, err), "")
		}
	}
	data = bytes.TrimSpace(data)
	if err := mcp.Validate(data); err != nil {
		return nil, usage(fmt.Sprintf("%s is no JSON: %s", from, jsonFault(err)), `Write an object, such as --args '{"path":"README.md"}'`)
	}
	if len(data) == 0 || data[0] != '{' {
		return nil, usage(from+" is no JSON object", `Write an object, such as --args '{"path":"README.md"}'`)
	}
	return data, nil
}

// jsonFault is what is wrong with JSON, without the names of those who found it.
func jsonFault(err error) string {
	text := err.Error()
	for _, prefix := range []string{"not valid JSON: ", "jsontext: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	if text == "EOF" {
		return "it is empty"
	}
	return text
}

func readBounded(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, mcp.MaxMessage+1))
	if err == nil && len(b) > mcp.MaxMessage {
		err = fmt.Errorf("it is larger than %s", size(mcp.MaxMessage))
	}
	return b, err
}

// arguments makes the JSON object that is sent.
func (in input) arguments(schema json.RawMessage) (json.RawMessage, error) {
	if in.whole != nil {
		return in.whole, nil
	}
	args := json.RawMessage(`{}`)
	for _, p := range in.pairs {
		value, err := p.typed(schema)
		if err != nil {
			return nil, err
		}
		args = mcp.SetMember(args, p.key, value)
	}
	return args, nil
}

// typed makes a value what the schema wants it to be. A string is taken as is, also where the schema says nothing.
func (p pair) typed(schema json.RawMessage) (json.RawMessage, error) {
	raw := json.RawMessage(strings.TrimSpace(p.value))
	valid := mcp.Validate(raw) == nil
	if p.isJSON {
		if !valid {
			return nil, usage(fmt.Sprintf("%s is no JSON: %s", p.key, p.value), "Behind := there is JSON; a string has quotes, or write "+p.key+"=text")
		}
		return raw, nil
	}
	types := typesOf(mcp.Path(schema, "properties", p.key), schema)
	if len(types) == 0 || slices.Contains(types, "string") {
		return mcp.Quote(p.value), nil
	}
	if valid && slices.ContainsFunc(types, func(t string) bool { return isOf(raw, t) }) {
		return raw, nil
	}
	return nil, usage(fmt.Sprintf("%s must be %s, not %q", p.key, anyOf(types), p.value), example(p.key, types))
}

// typesOf collects the types that a schema allows, through one reference and one level of alternatives.
func typesOf(property, root json.RawMessage) []string {
	property = follow(property, root)
	types := ownTypes(property)
	for _, word := range []string{"anyOf", "oneOf"} {
		for s := range mcp.Elements(mcp.Member(property, word)) {
			types = append(types, ownTypes(follow(s, root))...)
		}
	}
	return types
}

func ownTypes(schema json.RawMessage) []string {
	raw := mcp.Member(schema, "type")
	if one := mcp.Text(raw); one != "" {
		return []string{one}
	}
	var all []string
	for t := range mcp.Elements(raw) {
		all = append(all, mcp.Text(t))
	}
	return all
}

// follow goes where a $ref within the same schema points.
func follow(schema, root json.RawMessage) json.RawMessage {
	path, ok := strings.CutPrefix(mcp.Text(mcp.Member(schema, "$ref")), "#/")
	if !ok {
		return schema
	}
	return mcp.Path(root, strings.Split(path, "/")...)
}

func isOf(raw json.RawMessage, kind string) bool {
	switch kind {
	case "integer", "number":
		return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
	case "boolean":
		return raw[0] == 't' || raw[0] == 'f'
	case "array":
		return raw[0] == '['
	case "object":
		return raw[0] == '{'
	}
	return raw[0] == 'n'
}

func anyOf(types []string) string {
	var words []string
	for _, t := range types {
		switch t {
		case "integer", "array", "object":
			t = "an " + t
		case "number", "boolean":
			t = "a " + t
		}
		words = append(words, t)
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), " or ")
}

func example(key string, types []string) string {
	switch types[0] {
	case "integer":
		return "Write " + key + "=5"
	case "number":
		return "Write " + key + "=0.5"
	case "boolean":
		return "Write " + key + "=true or " + key + "=false"
	case "array":
		return `Write JSON: ` + key + `='["a", "b"]'`
	case "object":
		return `Write JSON: ` + key + `='{"a": 1}'`
	}
	return ""
}

// inputSchema is the schema in a tool's definition.
func inputSchema(definition json.RawMessage) json.RawMessage {
	return mcp.Member(definition, "inputSchema")
}
