package schema

import (
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxCost bounds one check, in steps of some 100 ns.
	maxCost = 500_000
	// maxChain bounds how many schemas may lie on the way of references and combinations at one place.
	maxChain = 100
)

// info is what is known of a compiled schema before any value comes. It isn't changed after analyse.
type info struct {
	all    map[*jsonschema.Schema]int // what one application costs by itself
	whole  int                        // steps for each part of a value at most; maxCost if recursive
	unique bool                       // uniqueItems is used
}

// here yields the schemas that s applies to the same value.
func here(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		one := func(s *jsonschema.Schema) bool { return s == nil || yield(s) }
		if !one(s.Ref) || !one(s.Not) || !one(s.If) || !one(s.Then) || !one(s.Else) {
			return
		}
		for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, slices.Collect(maps.Values(s.DependentSchemas))} {
			for _, sub := range list {
				if !yield(sub) {
					return
				}
			}
		}
		for _, d := range s.Dependencies {
			if sub, ok := d.(*jsonschema.Schema); ok && !yield(sub) {
				return
			}
		}
	}
}

// below yields the schemas that s applies to parts of the value.
func below(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		lists := [][]*jsonschema.Schema{
			slices.Collect(maps.Values(s.Properties)), slices.Collect(maps.Values(s.PatternProperties)), s.PrefixItems,
			everyPart(s), {s.PropertyNames},
		}
		if items, ok := s.Items.([]*jsonschema.Schema); ok {
			lists = append(lists, items)
		}
		for _, list := range lists {
			for _, sub := range list {
				if sub != nil && !yield(sub) {
					return
				}
			}
		}
	}
}

// everyPart returns the schemas that s may apply to any of the parts; some are nil.
func everyPart(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.Contains, s.Items2020, s.UnevaluatedItems, s.UnevaluatedProperties}
	for _, v := range []any{s.Items, s.AdditionalItems, s.AdditionalProperties} {
		if sub, ok := v.(*jsonschema.Schema); ok {
			list = append(list, sub)
		}
	}
	return list
}

// analyse walks all that is reachable, once, and turns off what isn't checked.
func analyse(root *jsonschema.Schema) (*info, error) {
	i := &info{all: map[*jsonschema.Schema]int{}}
	for queue := []*jsonschema.Schema{root}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		if _, seen := i.all[s]; seen {
			continue
		}
		if s.DynamicRef != nil || s.RecursiveRef != nil {
			return nil, errors.New("$dynamicRef and $recursiveRef are not checked")
		}
		s.Format = nil
		i.all[s] = own(s)
		i.unique = i.unique || s.UniqueItems
		queue = slices.AppendSeq(slices.AppendSeq(queue, here(s)), below(s))
	}
	chains := map[*jsonschema.Schema]int{}
	for s := range i.all {
		if chain(s, chains) > maxChain {
			return nil, errors.New("references lead in a circle, or are nested too deeply")
		}
	}
	i.whole = i.total(root, map[*jsonschema.Schema]int{})
	return i, nil
}

// chain is the longest way along here from s; more than maxChain for a circle.
func chain(s *jsonschema.Schema, known map[*jsonschema.Schema]int) int {
	if n, ok := known[s]; ok {
		return n
	}
	known[s] = maxChain + 1 // met again on the way: a circle
	n := 0
	for sub := range here(s) {
		n = max(n, chain(sub, known))
	}
	known[s] = min(n, maxChain) + 1
	return known[s]
}

// total is how many steps s costs with all below it written out. With it, a value of n parts costs at most n*total.
func (i *info) total(s *jsonschema.Schema, known map[*jsonschema.Schema]int) int {
	if n, ok := known[s]; ok {
		return n
	}
	known[s] = maxCost // met again on the way: recursive
	n := i.all[s]
	for _, subs := range []iter.Seq[*jsonschema.Schema]{here(s), below(s)} {
		for sub := range subs {
			n = min(n+i.total(sub, known), maxCost)
		}
	}
	known[s] = n
	return n
}

// own is what one application of s costs by itself.
func own(s *jsonschema.Schema) int {
	n := 1 + len(s.Required)/8
	if s.Enum != nil {
		n += parts(s.Enum.Values, false) / 4
	}
	if s.Const != nil {
		n += parts(*s.Const, false) / 4
	}
	if s.Pattern != nil {
		n += steps(s.Pattern)
	}
	for re := range s.PatternProperties {
		n += steps(re)
	}
	for _, list := range s.DependentRequired {
		n += len(list)
	}
	if s.UniqueItems {
		n += 20
	}
	return min(n, maxCost)
}

func steps(re jsonschema.Regexp) int {
	if p, ok := re.(*pattern); ok {
		return 1 + p.size/8
	}
	return 1
}

// parts weighs a value: each part, each name, each 64 bytes of text. With unique, long arrays of arrays and objects
// count with the square of their length, because the library compares all whose hashes are equal.
func parts(v any, unique bool) int {
	n := 1
	switch v := v.(type) {
	case string:
		n += len(v) / 64
	case json.Number:
		n += len(v) / 64
	case map[string]any:
		for key, child := range v {
			n += 1 + len(key)/64 + parts(child, unique)
		}
	case []any:
		composite := 0
		for _, child := range v {
			n += parts(child, unique)
			switch child.(type) {
			case []any, map[string]any:
				composite++
			}
		}
		if unique && composite > 20 {
			n += composite * composite / 8
		}
	}
	return n
}
