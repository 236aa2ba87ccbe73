package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// managedPath is where the administrator's file is. Tests of the whole command give it another value when they link.
var managedPath = "/etc/usher/managed-mcp.json"

// ManagedPath is where the administrator's file is: /etc/usher/managed-mcp.json. No variable and no flag changes it.
func ManagedPath() string { return managedPath }

// ManagedError says that the administrator's file is there and can't be read, or is broken. Nothing may run then, for
// nobody knows what it forbids.
type ManagedError struct {
	Path string
	Err  error
}

var _ error = (*ManagedError)(nil)

// Error says what is to be done.
func (e *ManagedError) Error() string {
	return fmt.Sprintf("nothing runs, because the administrator's policy %s can't be used: %v; whoever looks after this machine has to repair it", e.Path, e.Err)
}

// Unwrap returns the reason, a *Problem where the content is broken.
func (e *ManagedError) Unwrap() error { return e.Err }

// managed reads the administrator's file. That it isn't there is the one case in which there is no policy.
func (l *loader) managed() error {
	if l.Managed == "" {
		return nil
	}
	path, there := l.look(l.Managed)
	if !there {
		return nil
	}
	fail := func(err error) error { return &ManagedError{path, err} }
	data, info, err := readOnce(path)
	if err != nil {
		return fail(err)
	}
	c, err := ParseFrom(path, data, l.from(SourceManaged))
	if err != nil {
		return fail(err)
	}
	doc, err := parseDocument(path, data)
	if err != nil {
		return fail(err)
	}
	if err := unusable(doc); err != nil {
		return fail(err)
	}
	policy := readPolicy(doc, SourceManaged, l.Env)
	if why := rootsOnly(info); why != "" {
		c.Problems = append(c.Problems, Problem{
			File: path, Line: 1, Column: 1,
			Message: why + ", so this policy keeps nobody from changing it; chown it to root and chmod it to 644",
		})
	}
	l.trusted, l.base = policy.trusted, c
	l.layers = append(l.layers, layer{SourceManaged, path, data, c, policy})
	return nil
}

// unusable finds what leaves it open whether there is a policy at all: an empty file, and a field that is nearly one that
// forbids.
func unusable(doc *document) error {
	if doc.blank {
		return errors.New("the file is empty; write {} for no policy")
	}
	for _, f := range fieldsOf(doc.object, "") {
		known := append(slices.Sorted(maps.Keys(policyFields)), "mcpServers", "servers", "permissions")
		if near := nearest(f.name, known); near != "" && !slices.Contains(known, f.name) {
			p := doc.problem(f.key, f.path, `unknown field; write "`+near+`", or remove it`)
			return &p
		}
	}
	return nil
}
