package foreign

import "slices"

// Read reads a file of a product.
func Read(m Machine, p Place) *Reading {
	data, err := ReadFile(p.Path)
	if err != nil {
		return &Reading{Place: p, Err: err}
	}
	return Parse(m, p, data)
}

// Parse reads data as Read reads a file. It never fails as a whole but by [Reading].Err, and looks at no other file.
func Parse(m Machine, p Place, data []byte) *Reading {
	out := &Reading{Place: p}
	root, err := parse(p.Path, data)
	if err != nil {
		out.Err = err
		return out
	}
	r := &reader{out: out, root: root, machine: m}
	if out.Place.Product == "" {
		out.Place.Product = guessed(root)
	}
	product, known := ProductNamed(out.Place.Product)
	switch {
	case !known:
		out.Err = &broken{why: "no product is known that has such a file; name one"}
	case !root.is(isObject) && !(root.is(isNull) || root == nil):
		out.Err = &broken{line: root.line, why: "expected an object at the top of the file"}
	default:
		product.adapter.read(r)
	}
	return out
}

// guessed is the product that has such a root.
func guessed(root *node) string {
	for _, g := range []struct{ field, product string }{
		{"mcpServers", "claude"}, {"servers", "vscode"}, {"context_servers", "zed"}, {"mcp", "opencode"}, {"mcp_servers", "codex"},
		{"extensions", "goose"}, {"permissions", "claude"}, {"projects", "claude"},
	} {
		if root.get(g.field) != nil {
			return g.product
		}
	}
	return ""
}

// reader is one file while it is read.
type reader struct {
	out     *Reading
	root    *node
	machine Machine
}

func (r *reader) where(line int, field string) Where { return Where{r.out.Place.Path, line, field} }

func (r *reader) note(at Where, message string) { r.tell(at, message, false) }

// lose notes an entry or a rule that isn't taken over.
func (r *reader) lose(at Where, message string) { r.tell(at, message, true) }

const maxNotes = 1000 // of a file

func (r *reader) tell(at Where, message string, lost bool) {
	n := Note{r.out.Place.Product, at, message, lost}
	if len(r.out.Notes) < maxNotes && !slices.Contains(r.out.Notes[max(0, len(r.out.Notes)-20):], n) {
		r.out.Notes = append(r.out.Notes, n)
	}
}

// servers makes an entry of each member of an object.
func (r *reader) servers(all *node, path, project string, one func(d *draft)) {
	if all == nil || all.is(isNull) {
		return
	}
	if !all.is(isObject) {
		r.lose(r.where(all.line, path), "expected an object of servers")
		return
	}
	seen := make(map[string]bool)
	for _, m := range all.members {
		at := r.where(m.line, join(path, m.name))
		if seen[m.name] {
			r.lose(at, "a second server of this name; the first one counts")
			continue
		}
		seen[m.name] = true
		r.server(m.name, at, m.value, project, one)
	}
}

func (r *reader) server(name string, at Where, n *node, project string, one func(d *draft)) {
	if !n.is(isObject) {
		r.lose(at, "expected an object")
		return
	}
	p := r.out.Place
	if project == "" {
		project = p.Project
	}
	d := &draft{reader: r, n: n, used: make(map[string]bool), plain: make(map[string]string), rules: len(r.out.Rules)}
	d.e = Entry{Product: p.Product, Name: name, Where: at, Project: project, Shared: p.Shared, Named: p.Named}
	one(d)
	d.finish()
}

// rule adds one. An allow rule of a file that others may have written is lost.
func (r *reader) rule(list, server, tool, args, when string, at Where) {
	p := r.out.Place
	if p.Shared && list == "allow" {
		r.lose(at, "an allow rule of a file in a project's folder isn't taken over")
		return
	}
	if len(r.out.Rules) < maxNotes {
		r.out.Rules = append(r.out.Rules, Rule{p.Product, at, p.Shared, p.Named, list, server, tool, args, when})
	}
}
