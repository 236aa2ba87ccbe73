package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// AddRule adds pattern at the end of permissions.deny, ask or allow in the file
// at path. changed is false, and the file untouched, if the rule is there.
//
// Every byte outside the new element stays, the byte order mark, comments and
// line ends included; the element is laid out as its neighbours are. The file
// (0600) and its folder (0700) are made if they don't exist; an existing file
// keeps its mode, and a symbolic link stays and its target is written. The new
// content replaces the old in one step and is on the disk on return. Processes
// and goroutines that edit at once wait for each other, at most 10 seconds, by a
// lock on a file beside it whose name ends in ".lock" and that stays. What an
// editor saves meanwhile is kept too, but for the instant of the replacement.
//
// A file that can't be read as a config is refused and not touched; the error is
// then a *Problem. So is one that is read-only for everybody.
func AddRule(path string, list string, pattern string) (changed bool, err error) {
	if !slices.Contains(ruleLists, list) {
		return false, errors.New("a rule goes into one of " + strings.Join(ruleLists, ", "))
	}
	if why := badPattern(pattern); why != "" {
		return false, errors.New(why)
	}
	return editFile(path, func(d *document, _ bool) ([]change, error) {
		return d.addRule(list, Rule{Pattern: pattern})
	})
}

// SetRisk labels a tool in permissions.risk of the file at path, with the hash
// of the definition that the label is for; hash "" can only raise the risk. It writes as
// AddRule does; a label that is there is changed in place.
func SetRisk(path, tool, risk, hash string) error {
	if why := badPattern(tool); why != "" {
		return errors.New("the tool's name: " + why)
	}
	if !slices.Contains(risks, risk) {
		return errors.New("a risk is one of " + strings.Join(risks, ", "))
	}
	if hash != "" && badPattern(hash) != "" {
		return errors.New("the hash of the definition must be short text without control characters")
	}
	_, err := editFile(path, func(d *document, _ bool) ([]change, error) {
		return d.setRisk(tool, literal(risk), literal(hash))
	})
	return err
}

func (d *document) addRule(list string, wanted Rule) ([]change, error) {
	content := ruleNode(wanted)
	rule := node{kind: '[', items: []item{{value: content}}}
	permissions, missing, err := d.permissions(list, rule)
	if err != nil || missing != nil {
		return missing, err
	}
	f, ok := permissions.find(list)
	if !ok {
		rule.spread = permissions.spreadsLists()
		return permissions.insert(item{list, rule}), nil
	}
	array, ok := f.value.Value.(*hujson.Array)
	if !ok {
		p := d.problem(f.value.StartOffset, f.path, `expected a list of strings; write ["…"] here first`)
		return nil, &p
	}
	for _, e := range array.Elements {
		if isRule(e, wanted) {
			return nil, nil
		}
	}
	return permissions.inner(f).insert(item{value: content}), nil
}

func (d *document) setRisk(tool string, risk, hash node) ([]change, error) {
	label := risk
	if hash.text != `""` {
		label = node{kind: '{', items: []item{{"risk", risk}, {"hash", hash}}}
	}
	labels := node{kind: '{', spread: true, items: []item{{tool, label}}}
	permissions, missing, err := d.permissions("risk", labels)
	if err != nil || missing != nil {
		return missing, err
	}
	all, ok := permissions.find("risk")
	if !ok {
		return permissions.insert(item{"risk", labels}), nil
	}
	if all.value.Value.Kind() != '{' {
		p := d.problem(all.value.StartOffset, all.path, `expected an object; write {"TOOL": "read"} here first`)
		return nil, &p
	}
	box := permissions.inner(all)
	old, ok := box.find(tool)
	if !ok {
		return box.insert(item{tool, label}), nil
	}
	return box.relabel(old, label, risk, hash), nil
}

// permissions returns the object, or what adds it, with one member, where it is
// missing.
func (d *document) permissions(name string, value node) (*box, []change, error) {
	content := node{kind: '{', spread: true, items: []item{{name, value}}}
	if d.blank {
		root := node{kind: '{', spread: true, items: []item{{"permissions", content}}}
		return nil, d.fill(root), nil
	}
	root := d.rootBox()
	f, ok := root.find("permissions")
	if !ok {
		return nil, root.insert(item{"permissions", content}), nil
	}
	if f.value.Value.Kind() != '{' {
		p := d.problem(f.value.StartOffset, f.path, `expected an object; write {"allow": ["…"]} here first`)
		return nil, nil, &p
	}
	return root.inner(f), nil, nil
}

// relabel changes as little of a label as it can.
func (b *box) relabel(old field, label, risk, hash node) []change {
	replace := func(v hujson.Value, n node) []change {
		text := b.render(n, "", false)
		if string(b.doc.data[v.StartOffset:v.EndOffset]) == text {
			return nil
		}
		return []change{{v.StartOffset, v.EndOffset, text}}
	}
	if old.value.Value.Kind() != '{' {
		return replace(old.value, label)
	}
	inside := b.inner(old)
	r, hasRisk := inside.find("risk")
	h, hasHash := inside.find("hash")
	switch {
	case !hasRisk:
		return replace(old.value, label)
	case hasHash:
		return append(replace(r.value, risk), replace(h.value, hash)...)
	case hash.text != `""`:
		return append(replace(r.value, risk), inside.insert(item{"hash", hash})...)
	}
	return replace(r.value, risk)
}

// plan says how a document is to change. It is asked again for what came out, which is to change no more.
type plan func(d *document, again bool) ([]change, error)

const editTries = 5

// errChanged is for a file that somebody else wrote meanwhile.
var errChanged = errors.New("another program keeps writing it")

// editFile applies what plan says, under the lock. Editors know nothing of that: where one saves the file meanwhile, its
// text is edited.
func editFile(path string, plan plan) (changed bool, err error) {
	target, err := resolve(path)
	if err != nil {
		return false, fmt.Errorf("can't find the config: %w; check the path and its links", err)
	}
	unlock, err := lockBeside(target)
	if err != nil {
		return false, err
	}
	defer unlock()
	for try := range editTries {
		old, err := readTarget(target)
		if err != nil {
			return false, err
		}
		if try > 0 && old == nil { // moved away for a moment: what was in it must not be lost
			break
		}
		content, err := edited(path, old, plan)
		if err != nil || content == nil {
			return false, err
		}
		switch err := replaceFile(target, old, content); {
		case err == nil:
			return true, nil
		case !errors.Is(err, errChanged):
			return false, fmt.Errorf("can't write the config: %w; check its folder and the space on the disk", err)
		}
	}
	return false, fmt.Errorf("can't write the config: %w; try again", errChanged)
}

// edited returns the new content, or nil if nothing is to do. It reads the
// result again: an edit that the parser does not see is not written.
func edited(name string, old []byte, plan plan) ([]byte, error) {
	d, err := parseForEdit(name, old)
	if err != nil {
		return nil, err
	}
	changes, err := plan(d, false)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	content := d.apply(changes)
	again, err := parseForEdit(name, content)
	if err != nil {
		return nil, fmt.Errorf("the edit would not leave a readable file: %w; edit it by hand", err)
	}
	if left, err := plan(again, true); err != nil || len(left) > 0 {
		return nil, fmt.Errorf("%s: the edit did not take; edit the file by hand", name)
	}
	return content, nil
}

func parseForEdit(name string, data []byte) (*document, error) {
	d, err := parseDocument(name, data)
	if err != nil {
		return nil, err
	}
	return d, d.repeatedOutsideServers()
}
