// Package schema checks a call's arguments against its tool's inputSchema, and its result against the outputSchema, and
// says, in a line that a model can act on, which field is wrong and how. Making a schema fit for model APIs is the job
// of its sub-package repair.
//
// It helps; it is no barrier. A schema that can't be compiled, or whose check would cost too much, leaves the call and
// its result unchecked: the server decides. It loads nothing from anywhere, changes no argument, fills in no default, and takes
// `format` and `content…` as annotations in every draft, since servers disagree about them.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A Checker checks arguments or results against one schema. It is compiled once and is safe for concurrent use.
type Checker struct {
	raw  json.RawMessage
	once sync.Once
	root *jsonschema.Schema
	info *info
	err  error

	glance *glance // nil: every check is the library's
}

// Lazy returns a Checker that compiles raw at its first use. raw must not be written to after.
func Lazy(raw json.RawMessage) *Checker { return &Checker{raw: raw} }

// Compile returns a Checker whose schema is compiled. The error says why the schema can't be used, for the operator's
// eyes and without addresses; the caller then lets calls pass.
//
// Drafts 4 to 2020-12 are understood; without `$schema` it is 2020-12. Refused are schemas above MaxBytes, deeper than
// mcp.MaxDepth or of more than maxNodes subschemas, references to other documents, $dynamicRef and $recursiveRef,
// references that lead in a circle, patterns that RE2 can't compile, and unknown dialects.
func Compile(raw json.RawMessage) (*Checker, error) {
	c := Lazy(raw)
	if err := c.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// Err compiles the schema if that wasn't done yet, and returns why it can't be used.
func (c *Checker) Err() error {
	c.once.Do(func() {
		c.root, c.info, c.err = compile(c.raw)
		c.glance = glanceOf(c.raw)
		c.raw = nil
	})
	return c.err
}

// Check returns nil or a *Violation: the one that helps most. Nil or empty args count as {}. It returns nil if the
// schema can't be compiled (see Err), and for arguments whose check would take longer than some tenths of a second.
// Numbers are compared exactly, 2^53+1 included. The caller has bounded args and refused duplicate keys, as mcp.Parse
// does.
func (c *Checker) Check(args json.RawMessage) error {
	if c.Err() != nil {
		return nil
	}
	if c.glance.accepts(args) {
		return nil
	}
	if len(bytes.TrimSpace(args)) == 0 {
		return c.check(map[string]any{})
	}
	v, err := decode(args)
	if errors.Is(err, errNotJSON) {
		return violation("", "the arguments are not valid JSON")
	}
	if err != nil {
		return err
	}
	return c.check(v)
}

var errNotJSON = errors.New("not valid JSON")

func decode(raw json.RawMessage) (any, error) {
	v, err := unmarshal(raw)
	if err != nil {
		return nil, errNotJSON
	}
	if path := badNumber(v); path != nil {
		return nil, violation(fieldOf(v, path), "is a number that is too large or too precise")
	}
	return v, nil
}

// check runs the library on a schema and a value that others wrote: a panic there must not end the program, and as
// for a schema that can't be compiled, the call passes.
func (c *Checker) check(v any) (err error) {
	if !c.info.affordable(c.root, v) {
		return nil
	}
	defer func() {
		if recover() != nil {
			err = nil
		}
	}()
	var found *jsonschema.ValidationError
	if errors.As(c.root.Validate(v), &found) {
		return explain(c.info, v, found)
	}
	return nil
}
