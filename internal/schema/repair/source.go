package repair

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/usher-mcp/usher/mcp"
)

// source is the original, and what was looked up in it.
type source struct {
	root     json.RawMessage
	old      bool // draft 7 or before: what stands beside a `$ref` isn't in force
	taken    map[string]bool
	odd      bool // an odd name may be that of a property
	resolved map[lookup]target
	anchors  map[*byte]map[string]target
	looked   int // bytes that were looked through for references
}

// maxLooked bounds the time for references to some tenths of a second; those that are left then count as broken.
const maxLooked = 64 << 20

type lookup struct {
	base *byte
	ref  string
}

// target is a schema, and the one that the references in it start from.
type target struct{ schema, base json.RawMessage }

func newSource(root json.RawMessage) *source {
	root = bytes.TrimSpace(root)
	s := &source{root: root, taken: map[string]bool{}, resolved: map[lookup]target{}, anchors: map[*byte]map[string]target{}}
	for _, draft := range []string{"draft-03", "draft-04", "draft-06", "draft-07"} {
		s.old = s.old || strings.Contains(mcp.Text(mcp.Member(root, "$schema")), draft)
	}
	s.scan(root, false)
	return s
}

// scan collects all names, whatever they name: a new name must be none of them. Naming says that b holds names of
// properties, or seems to.
func (s *source) scan(b []byte, naming bool) {
	for key, value := range mcp.Members(b) {
		name := mcp.Text(key)
		s.taken[name] = true
		s.odd = s.odd || naming && !plain(name)
		s.scan(value, namesBelow[name] || naming && value[0] == '[')
	}
	for e := range mcp.Elements(b) {
		if e[0] == '"' && len(e) < maxName+3 {
			s.taken[mcp.Text(e)] = true
		}
		s.odd = s.odd || naming && e[0] == '"' && !plain(mcp.Text(e))
		s.scan(e, false)
	}
}

// namesBelow are the keywords whose values hold names of properties.
var namesBelow = map[string]bool{"properties": true, "required": true, "dependentRequired": true, "dependentSchemas": true, "dependencies": true}

// resolve finds what a reference names in this document; nothing is fetched.
func (s *source) resolve(ref string, base json.RawMessage) (target, bool) {
	at := lookup{&base[0], ref}
	t, ok := s.resolved[at]
	if !ok {
		t = s.find(ref, base)
		s.resolved[at] = t
	}
	return t, t.schema != nil
}

func (s *source) find(ref string, base json.RawMessage) target {
	address, fragment, _ := strings.Cut(ref, "#")
	if address != "" {
		if id, _, _ := strings.Cut(identity(base), "#"); !s.mayLook(base) || address != id {
			return target{}
		}
	}
	fragment, err := url.PathUnescape(fragment)
	switch {
	case err != nil:
		return target{}
	case fragment == "":
		return target{base, base}
	case fragment[0] == '/':
		return s.pointer(base, fragment[1:])
	}
	return s.anchor(base, fragment)
}

// mayLook reports whether b may still be looked through.
func (s *source) mayLook(b []byte) bool {
	s.looked += len(b)
	return s.looked <= maxLooked
}

// identity is the `$id` of a schema, or draft 4's id.
func identity(b []byte) string {
	if id := mcp.Text(mcp.Member(b, "$id")); id != "" {
		return id
	}
	return mcp.Text(mcp.Member(b, "id"))
}

// own returns the schema itself if references in it start from it, else base.
func (s *source) own(b, base json.RawMessage) json.RawMessage {
	if id := identity(b); id != "" && id[0] != '#' && (!s.old || mcp.Member(b, "$ref") == nil) {
		return b
	}
	return base
}

func (s *source) pointer(b json.RawMessage, path string) target {
	base := b
	for step := range strings.SplitSeq(path, "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		if !s.mayLook(b) {
			return target{}
		}
		if b = part(b, step); b == nil {
			return target{}
		}
		base = s.own(b, base)
	}
	return target{b, base}
}

func part(b []byte, step string) json.RawMessage {
	if len(b) > 0 && b[0] == '{' {
		return mcp.Member(b, step)
	}
	i, err := strconv.Atoi(step)
	for e := range mcp.Elements(b) {
		if err == nil && i == 0 {
			return e
		}
		i--
	}
	return nil
}

// anchor finds a schema by its name.
func (s *source) anchor(base json.RawMessage, name string) target {
	known := s.anchors[&base[0]]
	if known == nil {
		known = map[string]target{}
		s.anchors[&base[0]] = known
		s.collect(base, base, known)
	}
	return known[name]
}

// collect enters the anchors at the places of schemas, of two with one name the first.
func (s *source) collect(b, base json.RawMessage, known map[string]target) {
	names := []string{mcp.Text(mcp.Member(b, "$anchor"))}
	if id, ok := strings.CutPrefix(identity(b), "#"); ok {
		names = append(names, id)
	}
	for _, name := range names {
		if _, ok := known[name]; !ok {
			known[name] = target{b, base}
		}
	}
	for key, value := range mcp.Members(b) {
		for _, sub := range subschemas(keywords[mcp.Text(key)], value) {
			if len(sub) > 0 && sub[0] == '{' && len(s.own(sub, nil)) == 0 { // another resource has its own anchors
				s.collect(sub, base, known)
			}
		}
	}
}

// subschemas returns what may be a schema in the value of a keyword.
func subschemas(k kind, value json.RawMessage) (subs [][]byte) {
	switch k {
	case kindSchema, kindItems:
		subs = append(slices.Collect(mcp.Elements(value)), value)
	case kindSchemas:
		subs = slices.Collect(mcp.Elements(value))
	case kindMap, kindDefs, kindDependencies:
		for _, v := range mcp.Members(value) {
			subs = append(subs, v)
		}
	}
	return subs
}
