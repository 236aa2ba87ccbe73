// Package sqlite keeps what outlives a process in SQLite files. It implements the Store interfaces of other packages.
// Several processes may use one file at the same time.
//
// A DB holds only what can be found out again. So it is written with synchronous=NORMAL: after a crash of the machine the
// last writes may be missing, never half there. And a file that is damaged, or was written by a newer Usher, is set aside
// and begun anew, with a notice, instead of keeping anything from starting.
//
// A Ledger holds what can't be found out again: questions and their answers, trust, taint, who is connected. It is
// written with synchronous=FULL. A damaged one is set aside as well, under a name of its own that nothing deletes: what it
// said doesn't count any more, so that everything is asked again. One of a newer Usher isn't touched, and nothing begins
// in its place.
//
// The package makes no backup, and puts no bound on a file besides those of each table.
package sqlite
