// Package admin is how a person looks at a running usher and changes its servers: an API of JSON over HTTP on a Unix
// socket below the data folder, and its one client. A person also answers questions of calls through it.
//
// Only this user reaches it: the folder of the socket has to be this user's alone, and each end asks the kernel who the
// other one is. The server keeps no state and decides nothing; it asks its Host. It doesn't serve tools: agents come in
// through the gateway.
//
// The API, version 1:
//
//	GET  /v1/servers           Status
//	POST /v1/servers/restart   {"name": …}
//	POST /v1/servers/enable    {"name": …}
//	POST /v1/servers/disable   {"name": …}
//	POST /v1/servers/add       {"name": …, "entry": {…}}
//	POST /v1/servers/remove    {"name": …}
//
//	GET  /v1/approvals         the questions that wait, without their arguments
//	GET  /v1/approvals/{id}    Approval
//	POST /v1/approvals/{id}    {"allow": true, "scope": "once"|"session"|"always"}
//
// A question is answered by a person, not by who asked it: what usher or a connected client started is refused with 403.
//
// A change answers 204 as soon as it is in force, anything that failed with a Failure.
package admin
