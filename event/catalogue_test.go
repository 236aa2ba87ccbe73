package event_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/event"
)

// H1: All has exactly the types of this package that are Data.
func TestAllIsComplete(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "data" && f.Recv != nil {
				want = append(want, f.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	var got []string
	for _, d := range event.All() {
		got = append(got, reflect.TypeOf(d).Name())
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("All (-types with a method data +All):\n%s", diff)
	}
}

var row = regexp.MustCompile("^\\| `([a-z_.]+)` \\| ([^|]*) \\|")

// H1: the table of docs/events.md has each type, in order, with each field: "name", or "name?" if it can be left out.
func TestCatalogue(t *testing.T) {
	doc, err := os.ReadFile("../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for line := range strings.Lines(string(doc)) {
		if m := row.FindStringSubmatch(line); m != nil {
			fields := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(m[2], -1)
			entry := []string{m[1]}
			for _, f := range fields {
				entry = append(entry, f[1])
			}
			got = append(got, entry)
		}
	}
	var want [][]string
	for _, d := range event.All() {
		want = append(want, append([]string{d.Type()}, fields(reflect.TypeOf(d), "")...))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/events.md (-package event +docs/events.md):\n%s", diff)
	}
}

func fields(t reflect.Type, prefix string) (out []string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		element := f.Type
		if element.Kind() == reflect.Slice && element.Elem().Kind() != reflect.Uint8 {
			name, element = name+"[]", element.Elem()
		}
		mark := ""
		if options == "omitempty" {
			mark = "?"
		}
		out = append(out, prefix+name+mark)
		if element.Kind() == reflect.Struct {
			out = append(out, fields(element, prefix+name+".")...)
		}
	}
	return out
}

// Each type can be written and read again, and a type is not named twice.
func TestDecodeAll(t *testing.T) {
	seen := make(map[string]bool)
	for _, d := range event.All() {
		if seen[d.Type()] {
			t.Errorf("%s twice", d.Type())
		}
		seen[d.Type()] = true
		want := fill(reflect.TypeOf(d)).Interface().(event.Data)
		got, err := event.Decode(event.Event{Type: d.Type(), Data: encode(t, want)})
		if err != nil {
			t.Errorf("%s: %v", d.Type(), err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-written +read):\n%s", d.Type(), diff)
		}
	}
	if d, err := event.Decode(event.Event{Type: "of.tomorrow", Data: []byte(`{}`)}); d != nil || err != nil {
		t.Error("an unknown type:", d, err)
	}
	if _, err := event.Decode(event.Event{Type: "tool.started", Data: []byte(`{"tool":1}`)}); err == nil {
		t.Error("took a number for a text")
	}
}

// fill makes a value without an empty field.
func fill(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Struct:
		for i := range t.NumField() {
			v.Field(i).Set(fill(t.Field(i).Type))
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`{"raw":1.0}`))
			break
		}
		v.Set(reflect.Append(v, fill(t.Elem())))
	}
	return v
}
