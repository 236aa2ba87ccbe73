package config

// disable changes what an entry says of itself.
func (b *box) disable(disabled bool) ([]change, error) {
	if b.value.Value.Kind() != '{' {
		p := b.doc.problem(b.value.StartOffset, b.path, `expected an object; write {"command": "…"} or {"url": "https://…"} first`)
		return nil, &p
	}
	switches, err := b.switches()
	if err != nil {
		return nil, err
	}
	var turn []change
	for _, s := range switches {
		switch {
		case disabled && s.off:
			return nil, nil
		case disabled && len(turn) == 0, !disabled && s.off:
			turn = append(turn, s.flipped())
		}
	}
	if disabled && len(turn) == 0 {
		return b.insert(item{"disabled", node{text: "true"}}), nil
	}
	return turn, nil
}

// toggle is a field that can disable an entry.
type toggle struct {
	field
	off bool // it does
}

func (b *box) switches() (all []toggle, err error) {
	for _, name := range []string{"disabled", "enabled"} {
		f, ok := b.find(name)
		if !ok {
			continue
		}
		kind := f.value.Value.Kind()
		if kind != 't' && kind != 'f' {
			p := b.doc.problem(f.value.StartOffset, f.path, "expected true or false; correct it first")
			return nil, &p
		}
		all = append(all, toggle{f, (kind == 't') == (name == "disabled")})
	}
	return all, nil
}

func (t toggle) flipped() change {
	text := "true"
	if t.value.Value.Kind() == 't' {
		text = "false"
	}
	return change{t.value.StartOffset, t.value.EndOffset, text}
}
