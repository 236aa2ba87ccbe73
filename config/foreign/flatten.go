package foreign

import "slices"

// These bring an entry into the shape that others have. They copy: a file may have the same value in two places.

// rename gives a field the name that others have for it.
func (d *draft) rename(from, to string) {
	flat := *d.n
	flat.members = slices.Clone(d.n.members)
	for i := range flat.members {
		if flat.members[i].name == from {
			flat.members[i].name = to
		}
	}
	d.n = &flat
}

// flatten puts the members of an object where the object is, some of them under other names.
func (d *draft) flatten(field string, names map[string]string) {
	flat := *d.n
	flat.members = nil
	for _, m := range d.n.members {
		if m.name != field {
			flat.members = append(flat.members, m)
			continue
		}
		for _, inner := range m.value.members {
			if to := names[inner.name]; to != "" {
				inner.name = to
			}
			flat.members = append(flat.members, inner)
		}
	}
	d.n = &flat
}

// wholeCommand takes a command that is a list with its arguments apart.
func (d *draft) wholeCommand() {
	list := d.n.get("command")
	if !list.is(isList) || len(list.items) == 0 {
		return
	}
	flat := *d.n
	flat.members = nil
	args := &node{kind: isList, line: list.line, items: slices.Clone(list.items[1:])}
	for _, m := range d.n.members {
		switch {
		case m.name == "args" && m.value.is(isList):
			args.items = append(args.items, m.value.items...)
		case m.name != "command":
			flat.members = append(flat.members, m)
		}
	}
	flat.members = append(flat.members, member{"command", list.line, list.items[0]})
	if len(args.items) > 0 {
		flat.members = append(flat.members, member{"args", list.line, args})
	}
	d.n = &flat
}
