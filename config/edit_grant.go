package config

import (
	"errors"
	"slices"

	"github.com/tailscale/hujson"
)

// AddGrant writes a grant into permissions.grants, in the place of an older one for the same tool, as AddRule writes a
// rule. changed is false if the very same grant is there. Its File, Line and Source don't matter.
func AddGrant(path string, g Grant) (changed bool, err error) {
	if why := badGrant(g); why != "" {
		return false, errors.New("the grant " + why)
	}
	return editFile(path, func(d *document, _ bool) ([]change, error) { return d.addGrant(g) })
}

// RemoveGrant takes the grants for a tool out of permissions.grants, with the lines that they have of their own. changed is
// false, and the file untouched, if there is none. It writes as AddRule does.
func RemoveGrant(path, tool string) (changed bool, err error) {
	return editFile(path, func(d *document, _ bool) ([]change, error) {
		box, found, err := d.grantsOf(tool)
		if err != nil || len(found) == 0 {
			return nil, err
		}
		return box.cutElements(found), nil
	})
}

func badGrant(g Grant) string {
	switch {
	case badTool(g.Tool) != "":
		return "names no tool: " + badTool(g.Tool)
	case g.Definition == "" || !hashForm.MatchString(g.Definition):
		return `needs the definition's hash, "sha256:" and 64 digits`
	case g.Entry != "" && !hashForm.MatchString(g.Entry):
		return `needs the entry's hash, "sha256:" and 64 digits`
	case badShort(g.Package):
		return "has a package that isn't short text"
	}
	return incompleteGrant(g)
}

func grantTexts(g Grant) [][2]string {
	return [][2]string{{"tool", g.Tool}, {"entry", g.Entry}, {"definition", g.Definition}, {"package", g.Package}}
}

func (d *document) addGrant(g Grant) ([]change, error) {
	content := objectNode(grantTexts(g))
	all := node{kind: '[', spread: true, items: []item{{value: content}}}
	permissions, missing, err := d.permissions("grants", all)
	if err != nil || missing != nil {
		return missing, err
	}
	if _, ok := permissions.find("grants"); !ok {
		return permissions.insert(item{"grants", all}), nil
	}
	box, found, err := d.grantsOf(g.Tool)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return box.insert(item{value: content}), nil
	}
	first := box.value.Value.(*hujson.Array).Elements[found[0]]
	changes := box.cutElements(found[1:])
	texts := map[string]string{}
	for _, m := range grantTexts(g) {
		texts[m[0]] = m[1]
	}
	if isObjectOf(first, texts) {
		return changes, nil
	}
	return append(changes, change{first.StartOffset, first.EndOffset, box.render(content, "", false)}), nil
}

// grantsOf finds the list of grants, and which of its elements are for a tool. There is no box where there is no list.
func (d *document) grantsOf(tool string) (*box, []int, error) {
	if d.blank {
		return nil, nil, nil
	}
	f, ok := d.rootBox().find("permissions")
	if !ok || f.value.Value.Kind() != '{' {
		return nil, nil, nil
	}
	permissions := d.rootBox().inner(f)
	if f, ok = permissions.find("grants"); !ok {
		return nil, nil, nil
	}
	array, ok := f.value.Value.(*hujson.Array)
	if !ok {
		p := d.problem(f.value.StartOffset, f.path, "expected a list of grants; write [] here first")
		return nil, nil, &p
	}
	var found []int
	for i, e := range array.Elements {
		object, _ := e.Value.(*hujson.Object)
		if object != nil && slices.ContainsFunc(fieldsOf(object, ""), func(f field) bool { return f.name == "tool" && textOf(f.value) == tool }) {
			found = append(found, i)
		}
	}
	return permissions.inner(f), found, nil
}
