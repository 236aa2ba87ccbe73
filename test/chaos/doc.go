// Package chaos breaks servers while they are called, and holds what happened against what was promised. A seed makes a
// Plan: servers over all transports, callers, and a schedule of faults. Run carries it out with real child processes,
// real sockets behind a proxy that can fail, and a real journal; Check is the oracle.
//
// The same seed makes the same faults in the same order; when each hits is up to the machine. Only faults that hit a
// call in flight count. It measures no speed.
package chaos
