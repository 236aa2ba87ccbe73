package config

import (
	"slices"
	"sort"

	"github.com/tailscale/hujson"
)

// repeat is the later one of two members of an object with the same name.
type repeat struct {
	offset int
	path   []step // from the root
}

// step is a name, or an index where name is "" and index is not negative.
type step struct {
	name  string
	index int
}

// findRepeated walks v, which is at most maxDepth deep. It works on path and
// gives it back as it was.
func (d *document) findRepeated(v hujson.Value, path *[]step) {
	down := func(s step, v hujson.Value) {
		*path = append(*path, s)
		d.findRepeated(v, path)
		*path = (*path)[:len(*path)-1]
	}
	switch c := v.Value.(type) {
	case *hujson.Object:
		seen := make(map[string]bool, len(c.Members))
		for _, m := range c.Members {
			at := step{textOf(m.Name), -1}
			if seen[at.name] {
				d.repeated = append(d.repeated, repeat{m.Name.StartOffset, append(slices.Clone(*path), at)})
			}
			seen[at.name] = true
			down(at, m.Value)
		}
	case *hujson.Array:
		for i, e := range c.Elements {
			down(step{"", i}, e)
		}
	}
}

const msgRepeated = "this name is here twice; keep one of them"

// repeatedOutsideServers returns the first repetition that makes it unclear what
// the file as a whole says: any but one of a server's name or inside its entry.
func (d *document) repeatedOutsideServers() error {
	for _, r := range d.repeated {
		path := r.path
		if len(path) > 2 && path[0].name == "projects" {
			path = path[2:] // a list of servers is there, too
		}
		if len(path) < 2 || !isServersKey(path[0].name) {
			p := d.problem(r.offset, r.field(), msgRepeated)
			return &p
		}
	}
	return nil
}

// repeatedIn returns the repetitions between two offsets. findRepeated notes
// them in the order of the file.
func (d *document) repeatedIn(start, end int) []repeat {
	from := sort.Search(len(d.repeated), func(i int) bool { return d.repeated[i].offset >= start })
	to := sort.Search(len(d.repeated), func(i int) bool { return d.repeated[i].offset >= end })
	return d.repeated[from:to]
}

func (r repeat) field() string {
	field := ""
	for _, s := range r.path {
		if s.index >= 0 {
			field = element(field, s.index)
			continue
		}
		field = member(field, s.name)
	}
	return field
}

func isServersKey(name string) bool { return name == "mcpServers" || name == "servers" }

// textOf returns the text of a string, or another literal as it is written.
func textOf(v hujson.Value) string {
	if lit, ok := v.Value.(hujson.Literal); ok {
		return lit.String()
	}
	return ""
}
