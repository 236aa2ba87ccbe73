package schema

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Violation is what is wrong with the arguments or the result: a field as a person writes it (path[0].name; empty for the
// arguments as a whole) and what it must be. Both are one line that can be printed, of at most some 2000 bytes. It never
// holds a value of what was checked, only names from it.
type Violation struct {
	Field   string
	Message string
}

var _ error = (*Violation)(nil)

// Error returns "field: message".
func (v *Violation) Error() string {
	if v.Field == "" {
		return v.Message
	}
	return v.Field + ": " + v.Message
}

// violation bounds both texts and shows what can't be printed, such as a mark that turns the direction, as \uXXXX.
func violation(field, message string) *Violation {
	return &Violation{Field: printable(clip(field, 300)), Message: printable(clip(message, 1500))}
}

// finding is a leaf of the library's tree of errors, with what it is sorted by.
type finding struct {
	path []string
	text string
	sure int // how sure it is what was meant: 2 for an unknown name, 1 for a missing one, else 0
}

// explain picks the finding that helps most. i may be nil: then no name is suggested.
func explain(i *info, v any, e *jsonschema.ValidationError) *Violation {
	x := &explainer{info: i, value: v}
	f := x.best(e)
	return violation(fieldOf(v, f.path), f.text)
}

type explainer struct {
	info  *info
	value any
}

func (x *explainer) best(e *jsonschema.ValidationError) finding {
	if len(e.Causes) == 0 {
		return x.leaf(e)
	}
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return x.nearestBranch(e)
	case *kind.PropertyNames:
		return x.leaf(e)
	}
	found := make([]finding, 0, len(e.Causes))
	for _, cause := range e.Causes {
		found = append(found, x.best(cause))
	}
	return slices.MinFunc(found, compare)
}

// compare puts first what helps most: a misspelt name, then the deepest place, then the field's name.
func compare(a, b finding) int {
	if c := cmp.Compare(b.sure, a.sure); c != 0 {
		return c
	}
	if c := cmp.Compare(len(b.path), len(a.path)); c != 0 {
		return c
	}
	if c := slices.Compare(a.path, b.path); c != 0 {
		return c
	}
	return cmp.Compare(a.text, b.text)
}

// nearestBranch explains that none of several schemas fits by the one that the value seems meant for: not one that is
// ruled out by a fixed value of a member, nor by the value's own type, unless all are.
func (x *explainer) nearestBranch(e *jsonschema.ValidationError) finding {
	depth := len(e.InstanceLocation)
	best, bestScore, wanted := finding{}, -1, []string{}
	var fixed []any
	for _, branch := range e.Causes {
		f, score := x.best(branch), 2
		switch k := leafAt(branch, depth).(type) {
		case *kind.Type:
			score, wanted = 0, append(wanted, k.Want...)
		case *kind.Const:
			score, fixed = 0, append(fixed, k.Want)
		case *kind.Enum:
			score, fixed = 0, append(fixed, k.Want...)
		default:
			if ruledOut(branch, depth+1) {
				score = 1
			}
		}
		if score > bestScore || score == bestScore && compare(f, best) < 0 {
			best, bestScore = f, score
		}
	}
	if bestScore > 0 {
		return best
	}
	return finding{path: e.InstanceLocation, text: noneFits(wanted, fixed, x.at(e.InstanceLocation))}
}

// leafAt returns the kind of the one finding below e if it lies at the depth of the value itself.
func leafAt(e *jsonschema.ValidationError, depth int) jsonschema.ErrorKind {
	for len(e.Causes) == 1 {
		e = e.Causes[0]
	}
	if len(e.Causes) > 0 || len(e.InstanceLocation) != depth {
		return nil
	}
	return e.ErrorKind
}

// ruledOut reports whether a member at this depth had to have a fixed value and has another.
func ruledOut(e *jsonschema.ValidationError, depth int) bool {
	switch e.ErrorKind.(type) {
	case *kind.Const, *kind.Enum:
		return len(e.InstanceLocation) == depth
	}
	return slices.ContainsFunc(e.Causes, func(c *jsonschema.ValidationError) bool { return ruledOut(c, depth) })
}

func (x *explainer) leaf(e *jsonschema.ValidationError) finding {
	f := finding{path: e.InstanceLocation}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		x.missing(&f, k.Missing, "is required")
	case *kind.DependentRequired:
		x.missing(&f, k.Missing, "is required together with "+name(k.Prop))
	case *kind.Dependency:
		x.missing(&f, k.Missing, "is required together with "+name(k.Prop))
	case *kind.AdditionalProperties:
		x.unknown(&f, k.Properties, x.known(e.SchemaURL))
	case *kind.FalseSchema:
		f.text = "is not allowed here"
		if parent, ok := strings.CutSuffix(e.SchemaURL, "/unevaluatedProperties"); ok && len(f.path) > 0 {
			last := f.path[len(f.path)-1]
			f.path = f.path[:len(f.path)-1]
			x.unknown(&f, []string{last}, x.known(parent))
		}
	case *kind.PropertyNames:
		f.path = append(slices.Clone(f.path), k.Property)
		f.text = "is not an allowed name"
	default:
		f.text = message(k)
	}
	return f
}

// missing picks the missing name that an unknown member is nearest to, else the first.
func (x *explainer) missing(f *finding, names []string, text string) {
	given, _ := x.at(f.path).(map[string]any)
	for _, want := range names {
		if near := nearest(want, slicesOf(given)); near != "" && !slices.Contains(names, near) {
			f.sure, f.text = 1, text+"; is "+name(near)+" meant to be it?"
			f.path = append(slices.Clone(f.path), want)
			return
		}
	}
	if len(names) > 1 {
		text += "; so is " + list(names[1:], 10)
	}
	f.path, f.text = append(slices.Clone(f.path), names[0]), text
}

func (x *explainer) unknown(f *finding, names, known []string) {
	slices.Sort(names)
	for _, given := range names {
		if near := nearest(given, known); near != "" {
			f.sure, f.text = 2, "is not known; did you mean "+name(near)+"?"
			f.path = append(slices.Clone(f.path), given)
			return
		}
	}
	f.text = "is not known"
	if len(known) > 0 {
		f.text += "; known are " + list(known, 10)
	}
	f.path = append(slices.Clone(f.path), names[0])
}

// known returns the sorted names of the properties that the schema at a location declares.
func (x *explainer) known(location string) []string {
	if x.info == nil {
		return nil
	}
	for s := range x.info.all {
		if s.Location == location {
			names := make([]string, 0, len(s.Properties))
			for key := range s.Properties {
				names = append(names, key)
			}
			slices.Sort(names)
			return names
		}
	}
	return nil
}

// at returns the part of the value at a path, nil if there is none.
func (x *explainer) at(path []string) any {
	v := x.value
	for _, step := range path {
		v = part(v, step)
	}
	return v
}

func part(v any, step string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[step]
	case []any:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}

// fieldOf writes a path as in path[0].name; a name that is no plain word is quoted in brackets.
func fieldOf(v any, path []string) string {
	var b strings.Builder
	for _, step := range path {
		switch _, isArray := v.([]any); {
		case isArray:
			b.WriteString("[" + step + "]")
		case !isWord(step):
			quoted, _ := json.Marshal(clip(step, 60))
			b.WriteString("[" + string(quoted) + "]")
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(clip(step, 60))
		}
		v = part(v, step)
	}
	return b.String()
}
