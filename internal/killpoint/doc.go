// Package killpoint marks places where a test may kill this process with SIGKILL, to show what survives.
//
// In a normal build it does nothing and costs nothing. Built with the tag killpoints it obeys two variables of the
// environment: USHER_KILL_AT names the point to die at ("journal.write.before", or "journal.write.before:3" for the
// third time it is passed); USHER_KILL_LIST names a file to which each point is written when it is first passed.
package killpoint
