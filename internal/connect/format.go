package connect

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
)

// format is how a file is written. Its methods keep nothing.
type format interface {
	// entries returns what is under root, in the order of the file.
	entries(file string, data []byte, root []string) ([]Entry, error)
	// edit makes the changes one after the other. What it can't change without changing more is an error.
	edit(file string, data []byte, root []string, edits []edit) ([]byte, error)
	// decode reads all of the file, to compare.
	decode(data []byte) (map[string]any, error)
}

// edit changes one entry.
type edit struct {
	name   string
	fields []field // in an entry that is there, only those; in a new one, all of it
	whole  bool    // an entry that is there is replaced by the fields
	text   string  // as it stood in the file before
}

func (e edit) cuts() bool { return e.fields == nil && e.text == "" }

// limit is the size in bytes of the largest file that is read.
const limit = 64 << 20

var utf8BOM = []byte("\xef\xbb\xbf")

// rewrite edits, reads what came out again, and refuses it where anything but the entries of edits is another.
func (c *Client) rewrite(file string, data []byte, edits []edit) ([]byte, error) {
	root := c.rootIn(data)
	out, err := c.format.edit(file, data, root, edits)
	if err != nil {
		return nil, err
	}
	before, err := c.format.decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %w", file, err)
	}
	after, err := c.format.decode(out)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, errByHand)
	}
	for _, e := range edits {
		_, there := at(after, root)[e.name]
		if there == e.cuts() {
			return nil, fmt.Errorf("%s: %w", file, errByHand)
		}
	}
	if !reflect.DeepEqual(without(before, root, edits), without(after, root, edits)) {
		return nil, fmt.Errorf("%s: %w", file, errByHand)
	}
	return out, nil
}

var errByHand = errors.New("its layout is one that can't be changed without touching other parts; it was left alone, edit it by hand")

// rootIn is where the entries are; the newer files of opencode have them one deeper.
func (c *Client) rootIn(data []byte) []string {
	if c.Name != "opencode" {
		return c.root
	}
	all, err := c.format.decode(data)
	if err != nil {
		return c.root
	}
	deeper := append(c.root[:len(c.root):len(c.root)], "servers")
	servers, ok := at(all, c.root)["servers"].(map[string]any)
	if _, isEntry := servers["type"].(string); !ok || isEntry {
		return c.root
	}
	return deeper
}

// at is the object at a path; nil if there is none.
func at(all map[string]any, path []string) map[string]any {
	for _, name := range path {
		all, _ = all[name].(map[string]any)
	}
	return all
}

// without is all but the entries of edits. Objects that hold nothing else count as not there.
func without(all map[string]any, root []string, edits []edit) map[string]any {
	all = maps.Clone(all)
	if len(root) > 0 {
		inner, ok := all[root[0]].(map[string]any)
		if !ok && all[root[0]] != nil {
			return all
		}
		inner = without(inner, root[1:], edits)
		if delete(all, root[0]); len(inner) > 0 {
			all[root[0]] = inner
		}
		return all
	}
	for _, e := range edits {
		delete(all, e.name)
	}
	return all
}

// newline is what the lines of a file end in.
func newline(data []byte) string {
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}
