package foreign

import (
	"regexp"
	"strings"
)

// part is a piece of a value: literal text, or a reference as usher writes it.
type part struct{ lit, ref string }

// dialect takes a value of a product apart. What it can't say in usher's words stays literal, which it notes.
type dialect func(s string, c *context) []part

// context is where a value stands.
type context struct {
	*reader
	draft  *draft
	at     Where
	leaf   string // the last part of its place
	secret bool   // by its name
}

func (c *context) warn(message string) { c.note(c.at, message) }

// literal is the dialect of products that have none.
func literal(s string, c *context) []part {
	if strings.Contains(s, "${") {
		c.warn("${…} is no variable in this product; it stays as it is")
	}
	return []part{{lit: s}}
}

// variable is ${NAME}. Where the product makes an empty text of one that isn't set, only a secret's is missed.
func (c *context) variable(name, fallback string, hasDefault, emptyIfUnset bool) part {
	switch {
	case hasDefault && !strings.Contains(fallback, "}"):
		return part{ref: "${" + name + ":-" + fallback + "}"}
	case emptyIfUnset && !c.secret && !secretName(name):
		return part{ref: "${" + name + ":-}"}
	}
	return part{ref: "${" + name + "}"}
}

// keyring is ${keyring:NAME}; hint says where the value is now.
func (c *context) keyring(name, hint string) part {
	return c.kept(name, hint, "")
}

// cutAll takes s apart at the matches of re. make may refuse one, which stays literal then.
func cutAll(s string, re *regexp.Regexp, make func(groups []string) (part, bool)) (parts []part) {
	last := 0
	for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
		groups := []string{}
		for i := 0; i < len(m); i += 2 {
			g := ""
			if m[i] >= 0 {
				g = s[m[i]:m[i+1]]
			}
			groups = append(groups, g)
		}
		p, ok := make(groups)
		if !ok {
			continue
		}
		parts = append(parts, part{lit: s[last:m[0]]}, p)
		last = m[1]
	}
	return append(parts, part{lit: s[last:]})
}

var (
	claudeReference   = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)
	editorReference   = regexp.MustCompile(`\$\{([^${}]*)\}`)
	shellReference    = regexp.MustCompile(`\$(?:\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}|([A-Za-z_][A-Za-z0-9_]*))`)
	bracedReference   = regexp.MustCompile(`\{(env|file):([^{}]*)\}`)
	continueReference = regexp.MustCompile(`\$\{\{\s*(secrets|inputs)\.([A-Za-z0-9_./-]+)\s*\}\}`)
	variableName      = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// ofClaude has ${NAME} and ${NAME:-text}, as usher has.
func ofClaude(s string, c *context) []part {
	parts := cutAll(s, claudeReference, func(g []string) (part, bool) {
		if g[1] == "CLAUDE_PROJECT_DIR" && c.project() != "" {
			return part{lit: c.project()}, true
		}
		return c.variable(g[1], g[3], g[2] != "", false), true
	})
	return c.unknown(parts, "${")
}

// unknown notes what is left that looks like a reference.
func (c *context) unknown(parts []part, mark string) []part {
	for _, p := range parts {
		if strings.Contains(p.lit, mark) {
			c.warn("a " + mark + "…} that is no variable of this product stays as it is")
			break
		}
	}
	return parts
}

// ofEditor has ${env:NAME} and the folders of an editor; asks says whether it has ${input:id}, too.
func ofEditor(asks bool) dialect {
	return func(s string, c *context) []part {
		parts := cutAll(s, editorReference, func(g []string) (part, bool) {
			word, name, _ := strings.Cut(g[1], ":")
			switch {
			case word == "env" && variableName.MatchString(name):
				return c.variable(name, "", false, true), true
			case word == "input" && asks:
				return c.input(name)
			case word == "userHome":
				return part{ref: "${HOME}"}, true
			case word == "/" || word == "pathSeparator":
				return part{lit: "/"}, true
			case (word == "workspaceFolder" || word == "workspaceRoot" || word == "cwd") && name == "" && c.project() != "":
				return part{lit: c.project()}, true
			case word == "workspaceFolderBasename" && c.project() != "":
				return part{lit: c.project()[strings.LastIndexByte(c.project(), '/')+1:]}, true
			}
			return part{}, false
		})
		return c.unknown(parts, "${")
	}
}

// ofShell has $NAME, ${NAME} and ${NAME:-text}. What is not set is empty.
func ofShell(s string, c *context) []part {
	return c.unknown(cutAll(s, shellReference, func(g []string) (part, bool) {
		name := g[1] + g[4]
		return c.variable(name, g[3], g[2] != "", true), true
	}), "${")
}

// ofCrush is ofShell with commands, which are never run. Where one ends is the shell's to find, so all behind it goes.
func ofCrush(s string, c *context) []part {
	at := len(s)
	for _, mark := range []string{"$(", "`"} {
		if i := strings.Index(s, mark); i >= 0 {
			at = min(at, i)
		}
	}
	if at == len(s) {
		return ofShell(s, c)
	}
	return append(ofShell(s[:at], c), c.keyring(c.name(), "a command makes it there, which isn't run"))
}

// ofOpencode has {env:NAME} and {file:path}. What is not set is empty. No file is read.
func ofOpencode(s string, c *context) []part {
	parts := cutAll(s, bracedReference, func(g []string) (part, bool) {
		if g[1] == "file" {
			return c.keyring(c.name(), "it is in a file there, which isn't read"), true
		}
		return c.variable(g[2], "", false, true), variableName.MatchString(g[2])
	})
	for _, p := range parts {
		if strings.Contains(p.lit, "${") {
			c.warn("${…} is no variable in this product; it stays as it is")
			break
		}
	}
	return parts
}

// ofContinue has ${{ secrets.NAME }} and ${{ inputs.NAME }}.
func ofContinue(s string, c *context) []part {
	return c.unknown(cutAll(s, continueReference, func(g []string) (part, bool) {
		if g[1] == "secrets" {
			return c.keyring(clean(g[2]), "a secret of Continue"), true
		}
		return part{ref: "${" + upper(g[2]) + "}"}, true
	}), "${")
}

// render writes parts as usher reads them: ${ of a literal is $${.
func render(parts []part) (text string, ok bool) {
	var b strings.Builder
	ok = true
	for _, p := range parts {
		if p.ref != "" && strings.HasSuffix(b.String(), "$") {
			ok = false // usher would take $${ for a literal
		}
		b.WriteString(strings.ReplaceAll(p.lit, "${", "$${"))
		b.WriteString(p.ref)
	}
	return b.String(), ok
}

// upper makes the name of a variable.
func upper(s string) string {
	s = strings.NewReplacer(".", "_", "-", "_", "/", "_").Replace(strings.ToUpper(clean(s)))
	if !variableName.MatchString(s) {
		return "INPUT_" + s
	}
	return s
}

// clean makes a name for the keyring.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x80 && isWord(byte(r)) || strings.ContainsRune(".-/", r) {
			return r
		}
		return '_'
	}, s)
	return strings.Trim(s[:min(len(s), 60)], "_")
}
