package config

import (
	"regexp"
	"slices"
	"strings"
)

// expander replaces variables in the values of one entry and collects what is
// secret in them.
type expander struct {
	*reader
	lenient bool // a variable that is not set stays as it is, and so does all that is in the keyring
	raw     bool // nothing is expanded
}

// expanded is a value after expansion.
type expanded struct {
	text    string
	plain   []string // values of variables such as HOME in it
	missing []string // names of variables that are not set
	foreign bool     // has ${env:…} or ${input:…}
	secrets []string // from variables under secret-looking names, and from the keyring
	others  []string // from other variables and from defaults
	keyring []string // what is wrong with references to the keyring
}

// text returns the expanded text of a string, or reports.
func (e *expander) text(f field) (string, bool) {
	s, ok := e.reader.text(f)
	if !ok {
		return "", false
	}
	return e.expand(f, s, false)
}

// expand expands s, the text of f. What came from variables is secret if
// secretPlace is set or the variable's name looks secret.
func (e *expander) expand(f field, s string, secretPlace bool) (string, bool) {
	if e.raw {
		if secretPlace {
			e.cfg.secrets.add(literals(s)...)
		}
		return s, true
	}
	x := expandWith(s, e.env, e.lookUp)
	e.cfg.secrets.add(x.secrets...)
	for _, why := range x.keyring {
		e.bad(f, why)
	}
	if x.foreign {
		e.bad(f, "${env:…} and ${input:…} are no variables here and stay as they are; write ${NAME}")
	}
	if len(x.missing) > 0 && !e.lenient {
		slices.Sort(x.missing)
		for _, name := range slices.Compact(x.missing) {
			e.bad(f, "the variable "+name+" is not set; set it or write ${"+name+":-default}")
		}
		return "", false
	}
	if len(x.keyring) > 0 {
		return "", false
	}
	if secretPlace {
		e.cfg.secrets.add(x.others...)
		if !slices.Contains(x.plain, x.text) {
			e.cfg.secrets.add(x.text)
		}
	}
	return x.text, true
}

// literals are the parts of an unexpanded text that are no reference, and the texts that stand in for unset variables.
func literals(s string) []string {
	all := references.Split(s, -1)
	for _, m := range references.FindAllStringSubmatch(s, -1) {
		all = append(all, m[1])
	}
	return all
}

var references = regexp.MustCompile(`\$\{(?:[^}:]*:-([^}]*)|[^}]*)\}`)

// expand leaves references to the keyring as they are.
func expand(s string, env func(string) (string, bool)) expanded {
	return expandWith(s, env, func(string) (string, string, bool) { return "", "", false })
}

// expandWith takes what looks a name of the keyring up: its value, or what is wrong; use says whether either counts.
func expandWith(s string, env func(string) (string, bool), lookUp func(name string) (value, wrong string, use bool)) expanded {
	var x expanded
	var out strings.Builder
	after := len(s) - 1 - strings.LastIndexByte(s, '}') // no reference ends in there
	for {
		i := strings.Index(s, "${")
		if i < 0 || len(s)-i <= after {
			break
		}
		if i > 0 && s[i-1] == '$' {
			out.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		out.WriteString(s[:i])
		if raw, name, ok := parseKeyring(s[i:]); ok {
			out.WriteString(x.secret(raw, name, lookUp))
			s = s[i+len(raw):]
			continue
		}
		ref, ok := parseReference(s[i:])
		if !ok {
			x.foreign = x.foreign || isForeignReference(s[i:])
			out.WriteString("${")
			s = s[i+2:]
			continue
		}
		out.WriteString(x.value(ref, env))
		s = s[i+len(ref.raw):]
	}
	x.text = out.String() + s
	return x
}

// value looks ref up and notes what kind of value it is.
func (x *expanded) value(ref reference, env func(string) (string, bool)) string {
	v, set := env(ref.name)
	if ref.hasDefault && v == "" {
		v, set = ref.fallback, true
	}
	switch {
	case !set:
		x.missing = append(x.missing, ref.name)
		return ref.raw
	case plainVariable(ref.name):
		x.plain = append(x.plain, v)
	case secretName(ref.name):
		x.secrets = append(x.secrets, v)
	default:
		x.others = append(x.others, v)
	}
	return v
}

// reference is ${NAME} or ${NAME:-fallback}.
type reference struct {
	raw, name, fallback string
	hasDefault          bool
}

// parseReference reads the reference that s starts with. ok is false for what
// other languages write after ${ and for one without an end.
func parseReference(s string) (ref reference, ok bool) {
	n := len("${")
	for n < len(s) && isWord(s[n]) {
		n++
	}
	ref.name = s[len("${"):n]
	if ref.name == "" || '0' <= ref.name[0] && ref.name[0] <= '9' {
		return ref, false
	}
	if rest, cut := strings.CutPrefix(s[n:], ":-"); cut {
		ref.hasDefault = true
		end := strings.IndexByte(rest, '}')
		if end < 0 {
			return ref, false
		}
		ref.fallback = rest[:end]
		n += len(":-") + end
	}
	if n >= len(s) || s[n] != '}' {
		return ref, false
	}
	ref.raw = s[:n+1]
	return ref, true
}

func isForeignReference(s string) bool {
	return strings.HasPrefix(s, "${env:") || strings.HasPrefix(s, "${input:")
}

// home expands a leading ~ of a folder.
func (r *reader) home(dir string) string {
	rest, ok := strings.CutPrefix(dir, "~")
	if !ok || rest != "" && rest[0] != '/' {
		return dir
	}
	if home, _ := r.env("HOME"); home != "" {
		return home + rest
	}
	return dir
}
