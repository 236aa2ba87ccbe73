package client

// UsableName says why no tool or prompt can be offered under name; nil if one can. Listings drop what it refuses; what
// comes back from a cache is held to it, too.
func UsableName(name string) error { return checkName(name) }

// UsableURI is UsableName for resources and their templates.
func UsableURI(uri string) error { return checkURI(uri) }
