package permission

import "strings"

// leaves are the single values in a call's arguments, as the lists that forbid look at them: however deep they are,
// under all the names that lead there. They are found once for each call.
type leaves struct {
	keys []key
	all  []leaf
}

// key is a folded name, and the one that its object stands under.
type key struct {
	name string
	up   int // in leaves.keys; -1: none
}

type leaf struct {
	key   int // in leaves.keys; -1: none
	value any // no map or list but an empty one
	forms []string
	most  [1]string // forms' place where there is but one
}

func (c *Call) findLeaves() (*leaves, error) {
	args, err := c.Arguments()
	if err != nil {
		return nil, err
	}
	if c.found == nil {
		c.found = &leaves{keys: make([]key, 0, len(args)), all: make([]leaf, 0, len(args))}
		c.found.walk(args, -1)
	}
	return c.found, nil
}

func (l *leaves) walk(v any, under int) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			cut, _, _ := strings.Cut(name, "\x00") // as servers in C read it
			l.keys = append(l.keys, key{fold(cut), under})
			l.walk(inner, len(l.keys)-1)
		}
		if len(v) > 0 {
			return
		}
	case []any:
		for _, inner := range v {
			l.walk(inner, under)
		}
		if len(v) > 0 {
			return
		}
	}
	l.all = append(l.all, leaf{key: under, value: v})
}

// forbid reports whether a value that the argument could mean is there.
func (l *leaves) forbid(a *argument, real func(string) string) bool {
	for i := range l.all {
		leaf := &l.all[i]
		if a.exact != "" && !l.isUnderExact(leaf.key, a.exact) || a.exact == "" && !l.isUnder(leaf.key, a.path) {
			continue
		}
		if leaf.is(a, real) {
			return true
		}
	}
	return false
}

func (l *leaves) isUnderExact(at int, name string) bool {
	for ; at >= 0; at = l.keys[at].up {
		if l.keys[at].name == name {
			return true
		}
	}
	return false
}

// isUnder reports whether the names that lead to a key have the path's in its order. Several names of the path may be
// one key, dots and all.
func (l *leaves) isUnder(at int, path []string) bool {
	for ; at >= 0; at = l.keys[at].up {
		for n := 1; n <= len(path); n++ { // the last n names as one key
			tail := strings.Join(path[len(path)-n:], ".")
			if glob(tail, l.keys[at].name) && (n == len(path) || l.isUnder(l.keys[at].up, path[:len(path)-n])) {
				return true
			}
		}
	}
	return false
}

func (f *leaf) is(a *argument, real func(string) string) bool {
	switch f.value.(type) {
	case map[string]any, []any:
		return a.any
	}
	if f.forms == nil {
		f.forms = forms(f.most[:0], text(f.value), real)
	}
	if isForm(a.globs, f.forms) {
		return true
	}
	// a word is a file's name only where the rule means this argument: `*:/work/**` isn't about {"unit":"m"}
	s, isText := f.value.(string)
	return isText && real != nil && isBareName(s) && !strings.Contains(a.key, "*") && isForm(a.globs, addReal(nil, s, real))
}

func isForm(globs, forms []string) bool {
	for _, form := range forms {
		for _, g := range globs {
			if glob(g, form) {
				return true
			}
		}
	}
	return false
}
