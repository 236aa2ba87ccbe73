// Package foreign reads the servers and rules that people have in the configurations of other products, and makes entries
// of imported.json of them.
//
// It starts nothing, expands no variable, asks no keyring, follows no include, and writes no file. A command that stands
// in a value, such as $(op read …), is never run. Each product's values are read in that product's own dialect and written
// in usher's; what looks like another dialect stays as it is, with a note.
//
// No literal secret leaves [Parse] in anything but a [Secret]: in the values of an entry stands ${keyring:NAME} in its
// place. Whether a text is a secret is a guess by names and shapes that leans towards yes.
//
// A file is at most 4 MiB of UTF-8 or UTF-16, nested at most 128 deep. A mistake in one entry costs that entry only.
//
// Servers of a file in a project's folder may be somebody else's words: their allow rules don't count at all.
package foreign
