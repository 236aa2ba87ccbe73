package schema

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// patterns compiles the patterns of one schema within one bound.
type patterns struct{ spent int }

var errPatterns = errors.New("the patterns are too large")

// pattern is a Regexp that knows how much a step of it costs.
type pattern struct {
	*regexp.Regexp
	size int
}

var _ jsonschema.Regexp = (*pattern)(nil)

func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	n := instructions(tree)
	if p.spent += n; p.spent > maxPatterns {
		return nil, errPatterns
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &pattern{re, n}, nil
}

// instructions estimates the size of the compiled program, in which x{9} is nine times x.
func instructions(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxPatterns+1)
}
