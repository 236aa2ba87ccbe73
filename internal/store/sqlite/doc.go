// Package sqlite keeps what outlives a process in one SQLite file. It implements the Store interfaces of other packages;
// so far that of internal/catalog.
//
// Several processes may use one file at the same time. The file holds only what can be found out again. So it is written
// with synchronous=NORMAL: after a crash of the machine the last writes may be missing, never half there. And a file
// that is damaged, or was written by a newer Usher, is set aside and begun anew, with a notice, instead of keeping
// anything from starting. What can't be found out again, such as the permissions that a person granted, must not be put
// beside it under these terms: it belongs into a file of its own, opened with synchronous=FULL, where damage is an error
// that a person has to decide about.
//
// The package makes no backup, and puts no bound on a file besides those of each table.
package sqlite
