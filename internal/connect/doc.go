// Package connect writes usher into the configuration files of agents, as entries that start `usher stdio`, and takes it
// out again.
//
// [New] makes a Plan: the file as it would be. [Plan.Apply] keeps a copy of the old file and a [Record] in usher's data
// folder, and writes. [Undo] makes the Plan that goes back: to the byte where the file is as Apply left it, else only our
// entries go. Layout, comments and whatever else is in a file stay; a file that can't be read is never touched.
//
// It doesn't ask anybody, prints nothing, starts no program, reads no configuration of usher's and imports nothing from an
// agent.
package connect
