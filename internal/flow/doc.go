// Package flow remembers what each session took in, and tells which calls could carry it out.
//
// Two labels matter: private, for data that isn't everybody's, and untrusted, for content that somebody else wrote and
// that may tell an agent what to do. A session that holds both is one in which a stranger's words could send private data
// away: there a call to a sink, a tool that reaches further than this machine, is a Flow, which asks a person (or is
// denied) once for each pair of private source and sink.
//
// What a session took in outlives it in two ways: a server that it wrote to gives it back to whoever reads there later,
// and the client that had the session still knows it.
//
// The package looks at no content: what a text says decides nothing here. It asks nobody, denies nothing itself and writes
// no events.
package flow
