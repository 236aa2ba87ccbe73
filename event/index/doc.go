// Package index finds events in the log of a folder: by session, type, server, tool, call, time and text.
//
// It keeps an SQLite file beside the journal, which says where each event lies and what it is about. The file holds no
// event: what is found is read from the journal, byte for byte. It is filled when a reader asks, never by who writes
// events, and may be deleted at any time. Where it can't be kept, the journal itself is read, which finds the same.
//
// It doesn't write the journal, verify it or vouch for it: see journal.Verify. It doesn't see what a process holds in
// its queue, which is there for about 20 ms; nor what a killed one left in its spool, until another one starts.
package index
