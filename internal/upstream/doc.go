// Package upstream keeps one configured server reachable, and takes calls to it.
//
// A [Server] is put together from small parts, each in a file of its own: the supervisor keeps one connection alive, and
// only it dials; plan says what follows a loss; the pool has more connections where calls are stateless; the guard is
// breaker, bulkhead and retry; patience is how long a call may take; the lister asks what the server offers.
//
// The states of a supervisor:
//
//	        need                 dialled
//	idle ──────────▶ starting ───────────▶ up ◀──────────────────┐
//	                    │                   │ lost               │ dialled
//	                    │ failed            ▼                    │
//	                    └──────────▶ restarting (a process) ─────┤
//	                                 reconnecting (a remote) ────┘
//	                                        │ the plan is at its end
//	                                        ▼
//	            Restart ◀── failed (a process: until someone restarts it)
//	    need, nudge ◀────── unavailable (a remote: the next call dials once)
//
//	any ── Close ──▶ closed
//
// While a process restarts, calls fail at once; while a remote server is reconnected to, they wait. No call that may have
// run is sent again, unless the user says that its tool may run twice.
//
// It decides no permission and names no tool.
package upstream
