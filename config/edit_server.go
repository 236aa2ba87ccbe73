package config

import (
	"encoding/json"
	"errors"
	"fmt"
)

// SetDisabled turns the entry of a server off or on. It writes as AddRule does: the values of disabled and enabled are
// changed in place, and disabled is added where the entry has neither. changed is false, and the file untouched, if the
// entry says so already. A name that the file doesn't have is an error that names the nearest ones.
func SetDisabled(path, name string, disabled bool) (changed bool, err error) {
	return editFile(path, func(d *document, _ bool) ([]change, error) {
		all, f, err := d.server(name)
		if err != nil {
			return nil, err
		}
		return all.inner(f).disable(disabled)
	})
}

// AddServer adds an entry behind the others in the file at path. The entry is a JSON object as it stands under
// mcpServers; variables in it needn't be set. It is laid out as its neighbours are, and all else is written as AddRule
// does.
//
// Nothing is written where the file has a server of that name, where the name is not one that a server may have, or where
// the entry would be a [Problem] that costs it. The error says which.
func AddServer(path, name string, entry json.RawMessage) error {
	if why := badServerName(name); why != "" {
		return errors.New(why)
	}
	content, err := newEntry(entry)
	if err != nil {
		return fmt.Errorf("the entry of %s: %w", quoteName(name), err)
	}
	_, err = editFile(path, func(d *document, again bool) ([]change, error) {
		if box, f, _ := d.server(name); box != nil {
			if again {
				return nil, nil
			}
			p := d.problem(f.key, f.path, "this name is already used; remove that server, or choose another name")
			return nil, &p
		}
		changes, err := d.addServer(name, content)
		if err != nil {
			return nil, err
		}
		return changes, d.checkAdded(name, changes)
	})
	return err
}

// RemoveServer takes the entry of a server out of the file at path, with the comments in it. Where it has lines of its
// own they go as a whole, with a comment behind it. All other comments stay, also one in the line above. It writes as
// AddRule does. A name that the file doesn't have is an error that names the nearest ones.
func RemoveServer(path, name string) error {
	_, err := editFile(path, func(d *document, again bool) ([]change, error) {
		all, f, err := d.server(name)
		if again && all == nil {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return all.cut(f), nil
	})
	return err
}
