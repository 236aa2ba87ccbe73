// Package catalog remembers what each server offers: its tools, resources, resource templates and prompts, its era and
// what its handshake told.
//
// It has two levels: memory for the life of the process, and below it a Store that outlives the process, so that the
// first listing after a restart is there at once, marked as cached. It decides when a list must be asked for anew: after
// a start, after a new connection, when the server says that it changed, and when its time to live ends. A listing that
// fails never takes the place of one that didn't.
//
// It asks no server and starts no listing; that is its user's work, who tells it what came. It knows nothing of names
// that agents see, and of a server's configuration nothing but its name and an opaque key, so that no credential can
// get into a Store from there.
package catalog
