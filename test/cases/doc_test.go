// Package cases_test has a test for each failure in public reports on other hosts, gateways and clients that is about processes
// and sockets: what was seen there must not be seen here. The real usher runs, with real servers and agents; comments name
// the case by its number. Failures that are about time are in cases_test.go beside the library, those that a test of one
// package shows are cited there.
//
// Of these a part isn't here:
//
//   - case-005, case-031: there is no bound on all processes together; sessions, pools and starts at once are bounded each.
//   - case-010: process groups of Windows; only Linux is supported yet.
//   - case-011: servers are started in the background when usher starts, not at their first use. What an agent starts
//     beside usher is its own.
//   - case-029: two entries with the same command are two servers, since each has a name and rules of its own.
//   - case-039: a list, and a call, may ask a server once more that has refused its credentials; nothing else does.
//   - case-051: the next attempt doesn't let the build go on but ends it first (case-034); what its package manager has
//     fetched by then is kept by that.
package cases_test
