package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// message says what a value must be. It shows values of the schema, never of the arguments.
func message(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "must be " + types(k.Want) + ", is " + types([]string{k.Got})
	case *kind.Enum:
		return "must be " + oneOf(k.Want)
	case *kind.Const:
		return "must be " + oneOf([]any{k.Want})
	case *kind.Not:
		return "is what the schema rules out"
	case *kind.OneOf:
		return "fits more than one of the alternatives"
	case *kind.UniqueItems:
		return fmt.Sprintf("must not hold the same item twice: items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains, *kind.MinContains:
		return "lacks an item that it must hold"
	case *kind.MaxContains:
		return fmt.Sprintf("must hold such an item at most %d times", k.Want)
	case *kind.Format: // only in a schema itself
		return clip("is no "+k.Want+" that can be used: "+k.Err.Error(), 120)
	case *kind.Pattern:
		return "must match the pattern " + clip(k.Want, 120)
	}
	if text := sizes(k); text != "" {
		return text
	}
	return "does not fit the schema"
}

func sizes(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %s, has %d", count(k.Want, "character"), k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %s, has %d", count(k.Want, "character"), k.Got)
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %s, has %d", count(k.Want, "item"), k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %s, has %d", count(k.Want, "item"), k.Got)
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %s too many", count(k.Count, "item"))
	case *kind.MinProperties:
		return fmt.Sprintf("must have at least %s, has %d", count(k.Want, "member"), k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %s, has %d", count(k.Want, "member"), k.Got)
	case *kind.Minimum:
		return "must be at least " + number(k.Want)
	case *kind.Maximum:
		return "must be at most " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + number(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + number(k.Want)
	}
	return ""
}

// noneFits says what a value may be when all alternatives are ruled out by its type or by fixed values.
func noneFits(wanted []string, fixed []any, v any) string {
	switch {
	case len(fixed) > 0 && len(wanted) > 0:
		return "must be " + types(wanted) + " or " + oneOf(fixed)
	case len(fixed) > 0:
		return "must be " + oneOf(fixed)
	}
	return "must be " + types(wanted) + ", is " + types([]string{typeName(v)})
}

// types joins names of types with their articles: "a string or an integer".
func types(names []string) string {
	var texts []string
	for _, n := range names {
		switch n {
		case "null":
		case "array", "object", "integer":
			n = "an " + n
		default:
			n = "a " + n
		}
		if !slices.Contains(texts, n) {
			texts = append(texts, n)
		}
	}
	return strings.Join(texts, " or ")
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "number"
}

func oneOf(values []any) string {
	const most = 20
	texts := make([]string, 0, min(len(values), most))
	for _, v := range values[:min(len(values), most)] {
		b, err := json.Marshal(v)
		if err != nil {
			b = []byte("?")
		}
		if text := clip(string(b), 60); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if len(texts) == 1 && len(values) <= most {
		return texts[0]
	}
	text := "one of " + strings.Join(texts, ", ")
	if len(values) > most {
		text += fmt.Sprintf(" and %d more", len(values)-most)
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func number(r *big.Rat) string {
	if r.IsInt() {
		return clip(r.Num().String(), 40)
	}
	return strings.TrimRight(clip(r.FloatString(20), 40), "0")
}

// name shows a property's name.
func name(s string) string {
	b, _ := json.Marshal(clip(s, 60))
	return string(b)
}

func list(names []string, most int) string {
	var texts []string
	for _, n := range names[:min(len(names), most)] {
		texts = append(texts, name(n))
	}
	text := strings.Join(texts, ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

// clip shortens s to n bytes or a few less, at the border of a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// printable writes each character that can't be seen as an escape.
func printable(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !unprintable(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

func isWord(s string) bool {
	for _, r := range s {
		if r != '_' && r != '-' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return s != ""
}
