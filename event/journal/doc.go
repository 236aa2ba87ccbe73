// Package journal keeps events in a folder of append-only files, one JSON object a line, one file a process.
//
// It chains the events of each session by hashes, makes them durable, closes what a killed process left open, reads
// the folder and verifies it. docs/events.md describes the files for other programs.
//
// It does not index, sign or remove anything, and it does not decide what is recorded.
package journal
