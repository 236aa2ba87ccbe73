package connect

import (
	"os"
	"path/filepath"
	"slices"
)

// Undo plans to take usher out of a file again. Where the file is as it was left, it becomes what it was before; else only
// our entries go, and those of the client's own that had been moved come back. Of Options only Client, Place, Project,
// File, Data and Now count. It fails with ErrNotConnected where nothing of usher's is in it.
func Undo(o Options) (*Plan, error) {
	p, r, err := o.begin()
	if err != nil {
		return nil, err
	}
	p.Undo = true
	if r != nil && digest(p.Before) == r.Before { // somebody has been faster
		p.After, p.Exact = p.Before, true
		return p, nil
	}
	entries, err := p.entries(p.Before)
	if err != nil {
		return nil, err
	}
	if r != nil && r.Exact && r.After == digest(p.Before) {
		if old, ok := r.old(o.Data); ok {
			p.After, p.Exact, p.made = old, true, r.Made
			p.Changes, _ = takeOut(entries, r)
			return p, nil
		}
	}
	return p, p.takeOut(entries, r)
}

// old is the file before; ok is false where the copy isn't what it was.
func (r *Record) old(data string) (old []byte, ok bool) {
	if r.Before == "" {
		return nil, true
	}
	old, err := os.ReadFile(filepath.Join(folder(data), filepath.Base(r.Backup)))
	if old == nil {
		old = []byte{}
	}
	return old, err == nil && digest(old) == r.Before
}

func (p *Plan) takeOut(entries []Entry, r *Record) (err error) {
	var edits []edit
	p.Changes, edits = takeOut(entries, r)
	if len(edits) == 0 && r == nil {
		return ErrNotConnected
	}
	p.After = p.Before
	if len(edits) == 0 {
		return nil
	}
	if p.After, err = p.Client.rewrite(p.File, p.Before, edits); err == nil {
		return nil
	}
	for i := range edits { // what had been moved doesn't fit any more
		edits[i].text = ""
	}
	for i, c := range p.Changes {
		if c.Kind == Restored {
			p.Changes[i].Kind = Lost
		}
	}
	edits = slices.DeleteFunc(edits, func(e edit) bool {
		return !slices.ContainsFunc(entries, func(o Entry) bool { return o.Name == e.name })
	})
	p.After, err = p.Client.rewrite(p.File, p.Before, edits)
	return err
}

// takeOut finds what is ours: by the record, or by what it starts where there is none.
func takeOut(entries []Entry, r *Record) (changes []Change, edits []edit) {
	seen := map[string]bool{}
	for _, e := range entries {
		seen[e.Name] = true
		if !e.Ours() || r != nil && !r.has(e.Name) {
			continue
		}
		change := edit{name: e.Name}
		if r != nil {
			change.text = r.movedText(e.Name)
		}
		edits = append(edits, change)
		changes = append(changes, Change{Kind: Removed, Name: e.Name})
		if change.text != "" {
			changes = append(changes, Change{Kind: Restored, Name: e.Name})
		}
	}
	if r == nil {
		return changes, edits
	}
	for _, m := range r.Moved {
		if !seen[m.Name] && m.Text != "" {
			seen[m.Name] = true
			edits = append(edits, edit{name: m.Name, text: m.Text})
			changes = append(changes, Change{Kind: Restored, Name: m.Name})
		}
	}
	return changes, edits
}
