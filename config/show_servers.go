package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/usher-mcp/usher/internal/secret"
)

func (s *shower) servers() []ShownServer {
	out := []ShownServer{}
	add := func(x Server, state, why string) {
		out = append(out, ShownServer{x.Name, state, why, x.Source, x.File, x.Line, s.fields(x)})
	}
	for _, x := range s.Servers {
		state := ServerRuns
		if x.Disabled {
			state = ServerDisabled
		}
		add(x, state, "")
	}
	for _, x := range s.Pending {
		add(x, ServerPending, "")
	}
	for _, b := range s.Blocked {
		add(b.Server, ServerBlocked, b.Reason)
	}
	for _, x := range s.Shadowed {
		add(x.Server, ServerShadowed, "the entry in "+Place{x.By.File, x.By.Line}.String()+" ("+x.By.Source+") counts")
	}
	slices.SortStableFunc(out, func(a, b ShownServer) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// fields returns an entry as it is written.
func (s *shower) fields(x Server) []Setting {
	out := []Setting{}
	for _, p := range s.gate.layers {
		if p.source != x.Source || p.name != x.File {
			continue
		}
		d := s.doc(p)
		if d == nil {
			break
		}
		for _, f := range d.entryAt(x.Name, x.Line) {
			line, _ := d.place(f.key)
			out = append(out, Setting{f.name, s.written(f), x.Source, p.name, line})
		}
		break
	}
	return out
}

// entryAt finds the fields of an entry by its name and line, also below projects. Only where the reader looks, too: a file
// on one line could have another object of that name before it.
func (d *document) entryAt(name string, line int) []field {
	find := func(fields []field) []field {
		for _, f := range fields {
			if !isServersKey(f.name) {
				continue
			}
			for _, e := range inside(f) {
				if at, _ := d.place(e.key); e.name == name && at == line {
					return inside(e)
				}
			}
		}
		return nil
	}
	root := fieldsOf(d.object, "")
	if found := find(root); found != nil {
		return found
	}
	for _, f := range root {
		if f.name != "projects" {
			continue
		}
		for _, folder := range inside(f) {
			if found := find(inside(folder)); found != nil {
				return found
			}
		}
	}
	return nil
}

func inside(f field) []field {
	object, _ := f.value.Value.(*hujson.Object)
	if object == nil {
		return nil
	}
	return fieldsOf(object, f.path)
}

// written is a field's value as it is in the file, without what looks secret.
func (s *shower) written(f field) string {
	v := f.value.Clone()
	if f.name != "tls" { // its key is a file
		mask(&v, f.name == "bearerToken" || f.name == "bearer_token")
	}
	return s.hide(compact(v))
}

// mask replaces literals in v that look secret: under a name that does, or behind an argument that does.
func mask(v *hujson.Value, secretive bool) {
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			mask(&c.Members[i].Value, secretive || secretName(textOf(c.Members[i].Name)))
		}
	case *hujson.Array:
		before := ""
		for i := range c.Elements {
			e := &c.Elements[i]
			now := textOf(*e)
			mask(e, secretive || strings.HasPrefix(before, "-") && !strings.Contains(before, "=") && secretName(before) && !strings.HasPrefix(now, "-"))
			before = now
		}
	case hujson.Literal:
		text := c.String()
		if c.Kind() != '"' {
			text = string(c)
		}
		name, value, pair := strings.Cut(text, "=")
		switch {
		case secretive:
			v.Value = hujson.String(masked(text))
		case pair && secretName(name) && !strings.ContainsAny(name, " ?&"):
			v.Value = hujson.String(name + "=" + masked(value))
		}
	}
}

// masked keeps references, and the scheme of a header such as Bearer.
func masked(s string) string {
	if scheme, rest, ok := strings.Cut(s, " "); ok && strings.EqualFold(scheme, "bearer") {
		return scheme + " " + masked(rest)
	}
	if s == "" {
		return s
	}
	var out strings.Builder
	for s != "" {
		i := strings.Index(s, "${")
		end := -1
		if i >= 0 {
			end = strings.IndexByte(s[i:], '}')
		}
		if end < 0 {
			out.WriteString(secret.Mask)
			break
		}
		if i > 0 {
			out.WriteString(secret.Mask)
		}
		out.WriteString(maskedReference(s[i : i+end+1]))
		s = s[i+end+1:]
	}
	return out.String()
}

// maskedReference hides what stands for a variable that isn't set.
func maskedReference(ref string) string {
	if name, _, ok := strings.Cut(ref, ":-"); ok {
		return name + ":-" + secret.Mask + "}"
	}
	return ref
}

// hide takes out every secret that was read from the files and their variables.
func (s *shower) hide(text string) string {
	var set secret.Set
	set.Add(s.Secrets()...)
	return string(set.Redact([]byte(text)))
}

// compact is a value on one line, without comments; a text stays without quotes.
func compact(v hujson.Value) string {
	if lit, ok := v.Value.(hujson.Literal); ok && lit.Kind() == '"' {
		return lit.String()
	}
	v = v.Clone()
	v.Minimize()
	return string(v.Pack())
}
