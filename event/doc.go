// Package event is what Usher records: one struct for each type of event, the Log that takes them, and the hash chain
// that makes a change visible. docs/events.md describes the types for readers of the log.
//
// It stores nothing itself; event/journal does.
package event
