package config

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	near "github.com/usher-mcp/usher/internal/nearest"
)

// servers returns the objects that have servers in them.
func (d *document) servers() (all []*box) {
	if d.blank {
		return nil
	}
	root := d.rootBox()
	for _, f := range fieldsOf(d.object, "") {
		if isServersKey(f.name) && f.value.Value.Kind() == '{' {
			all = append(all, root.inner(f))
		}
	}
	return all
}

// server finds an entry and what it is in. They come with an error where the name is not clear.
func (d *document) server(name string) (in *box, entry field, err error) {
	var names []string
	for _, all := range d.servers() {
		for _, f := range fieldsOf(all.value.Value.(*hujson.Object), all.path) {
			names = append(names, f.name)
			if f.name != name {
				continue
			}
			if in != nil {
				p := d.problem(f.key, f.path, msgRepeated)
				return in, entry, &p
			}
			in, entry = all, f
		}
	}
	if in == nil {
		return nil, field{}, noServer(name, names)
	}
	return in, entry, nil
}

// noServer names at most three servers that may be meant, or all where they are few.
func noServer(name string, names []string) error {
	text := "no server is called " + quoteName(name)
	if len(names) == 0 {
		return errors.New(text + "; the configuration has none")
	}
	slices.Sort(names)
	names = slices.Compact(names)
	var close []string
	for _, n := range names {
		if near.Name(name, []string{n}) != "" || strings.HasPrefix(n, name) {
			close = append(close, n)
		}
	}
	slices.SortStableFunc(close, func(a, b string) int { return cmp.Compare(near.Distance(a, name), near.Distance(b, name)) })
	switch {
	case len(close) > 0:
		return errors.New(text + "; did you mean " + shownNames(close[:min(len(close), 3)], " or ") + "?")
	case len(names) <= 10:
		return errors.New(text + "; there are " + shownNames(names, " and "))
	}
	return errors.New(text + "; to see which there are, look under mcpServers")
}

func shownNames(names []string, last string) string {
	var all []string
	for _, n := range names {
		if !plainName(n) {
			n = quoteName(n)
		}
		all = append(all, n)
	}
	head := strings.Join(all[:len(all)-1], ", ")
	if head == "" {
		return all[0]
	}
	return head + last + all[len(all)-1]
}
