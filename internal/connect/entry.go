package connect

import (
	"path/filepath"
	"slices"
	"strings"
)

// Entry is one server in a client's file.
type Entry struct {
	Name    string
	Command []string // what it starts, with its arguments; empty if it is an address
	URL     string
	text    string // as it stands in the file; "" if it can't be put back as a piece
	fields  map[string]any
}

// newEntry understands the spellings of all clients.
func newEntry(name, text string, fields map[string]any) Entry {
	e := Entry{Name: name, text: text, fields: fields}
	if nested, ok := fields["transport"].(map[string]any); ok { // an old form of Cline's
		fields = nested
	}
	switch command := fields["command"].(type) {
	case string:
		e.Command = append([]string{command}, texts(fields["args"])...)
	case []any:
		e.Command = texts(command)
	case map[string]any: // an old form of Zed's
		path, _ := command["path"].(string)
		e.Command = append([]string{path}, texts(command["args"])...)
	}
	if cmd, ok := fields["cmd"].(string); ok {
		e.Command = append([]string{cmd}, texts(fields["args"])...)
	}
	for _, key := range []string{"url", "serverUrl", "httpUrl", "uri"} {
		if url, ok := fields[key].(string); ok && e.URL == "" {
			e.URL = url
		}
	}
	return e
}

func texts(v any) (all []string) {
	list, _ := v.([]any)
	for _, e := range list {
		s, _ := e.(string)
		all = append(all, s)
	}
	return all
}

// Ours reports whether the entry starts usher as a server.
func (e Entry) Ours() bool {
	return len(e.Command) > 1 && filepath.Base(e.Command[0]) == "usher" && slices.Contains(e.Command[1:], "stdio")
}

// Serves are the servers that an entry of ours is for; none: all.
func (e Entry) Serves() (names []string) {
	for i, arg := range e.Command {
		if arg == "--only" && i+1 < len(e.Command) {
			names = append(names, e.Command[i+1])
		} else if name, ok := strings.CutPrefix(arg, "--only="); ok {
			names = append(names, name)
		}
	}
	return names
}

// sameEnd reports whether an entry leads to the server that usher has too.
func (e Entry) sameEnd(s Server) bool {
	if e.URL != "" || s.URL != "" {
		return strings.TrimRight(e.URL, "/") == strings.TrimRight(s.URL, "/")
	}
	return len(e.Command) > 0 && slices.Equal(e.Command, s.Command)
}

// lacks are the fields that aren't as they are to be.
func (e Entry) lacks(fields []field) (all []field) {
	for _, f := range fields {
		if !same(e.fields[f.name], f.value) {
			all = append(all, f)
		}
	}
	return all
}

func same(got, want any) bool {
	switch want := want.(type) {
	case []string:
		_, list := got.([]any)
		return list && slices.Equal(texts(got), want)
	case map[string]string:
		object, _ := got.(map[string]any)
		for name, value := range want {
			if object[name] != value {
				return false
			}
		}
		return true
	case int:
		return true // a time-out that a person may have changed
	case bool:
		return true // whether it is on is theirs
	}
	return got == want
}
