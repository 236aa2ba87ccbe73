package builtin

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

const (
	maxPattern      = 500
	maxAlternatives = 64
)

// glob matches paths. A pattern without "/" and "**" is matched with the last name, any other with the whole path,
// name by name, where "**" stands for any number of names. {a,b} are alternatives. The nil glob matches all.
type glob struct {
	alternatives [][]string // each the names of a pattern
	whole        bool
}

func newGlob(pattern string) (*glob, error) {
	if pattern == "" {
		return nil, nil
	}
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("the pattern is longer than %d bytes", maxPattern)
	}
	g := &glob{whole: strings.Contains(pattern, "/") || strings.Contains(pattern, "**")}
	list, err := expand(pattern)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		names := strings.Split(strings.TrimPrefix(strings.TrimPrefix(p, "./"), "/"), "/")
		for _, n := range names {
			if _, err := path.Match(n, ""); err != nil {
				return nil, fmt.Errorf("the pattern %q is not valid: a [ lacks its ], or it ends with \\", pattern)
			}
		}
		g.alternatives = append(g.alternatives, names)
	}
	return g, nil
}

// expand writes out the alternatives of {a,b}; nested ones too.
func expand(pattern string) ([]string, error) {
	done, todo := []string(nil), []string{pattern}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		closing := strings.IndexByte(p, '}')
		opening := -1
		if closing >= 0 {
			opening = strings.LastIndexByte(p[:closing], '{')
		}
		if opening < 0 {
			done = append(done, p)
			continue
		}
		for _, choice := range strings.Split(p[opening+1:closing], ",") {
			todo = append(todo, p[:opening]+choice+p[closing+1:])
		}
		if len(done)+len(todo) > maxAlternatives {
			return nil, errors.New("the pattern has too many alternatives in {}")
		}
	}
	return done, nil
}

func (g *glob) match(name string) bool {
	if g == nil {
		return true
	}
	names := []string{path.Base(name)}
	if g.whole {
		names = strings.Split(name, "/")
	}
	for _, pattern := range g.alternatives {
		if matchNames(pattern, names) {
			return true
		}
	}
	return false
}

// matchNames keeps, for each name, how far the pattern may have come, so that many "**" cost no more than their number.
func matchNames(pattern, names []string) bool {
	at := make([]bool, len(pattern)+1)
	at[0] = true
	for _, name := range names {
		skip(pattern, at)
		next := make([]bool, len(pattern)+1)
		for i, p := range pattern {
			if !at[i] {
				continue
			}
			if p == "**" {
				next[i] = true
			} else if ok, _ := path.Match(p, name); ok {
				next[i+1] = true
			}
		}
		at = next
	}
	skip(pattern, at)
	return at[len(pattern)]
}

// skip lets each "**" stand for no name.
func skip(pattern []string, at []bool) {
	for i, p := range pattern {
		if at[i] && p == "**" {
			at[i+1] = true
		}
	}
}
