// Package ancestry tells which process stands at the other end of a connection, and from which processes it descends. Its
// Guard refuses those who would answer their own question: what usher started, and what a connected client started.
//
// A process is known by its id and the time of its start, so that an id that was given out anew isn't taken for the old
// process. The kernel is asked each time; nothing is remembered but where a peer was found last.
//
// This is a hurdle, and no wall. A program with a free shell of the same user gets past it: it can have somebody else
// start the answer (a running tmux, cron, at, systemd-run), fork twice into a session of its own, trace another
// process, or write into the files of usher. Whoever must keep such a program out runs it as another user, or in a
// sandbox that has neither the socket nor the data folder.
//
// The package knows nothing of questions, keeps no list of clients, and doesn't tell one user from another: who listens
// does that.
package ancestry
