package schema

import (
	"errors"
	"strings"
)

var errDialect = errors.New("its `$schema` names a dialect that is not known (drafts 4, 6, 7, 2019-09 and 2020-12 are), so nothing is checked against it")

// dialect refuses a `$schema` that the library would try to load.
func dialect(doc any) error {
	members, _ := doc.(map[string]any)
	name, ok := members["$schema"].(string)
	if !ok {
		return nil // none, or one that the compiler refuses
	}
	name = strings.TrimSuffix(name, "#")
	name = strings.TrimPrefix(strings.TrimPrefix(name, "https://"), "http://")
	switch name {
	case "json-schema.org/schema", "json-schema.org/draft/2020-12/schema", "json-schema.org/draft/2019-09/schema",
		"json-schema.org/draft-07/schema", "json-schema.org/draft-06/schema", "json-schema.org/draft-04/schema":
		return nil
	}
	return errDialect
}
