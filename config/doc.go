// Package config reads what a user, a project and an administrator write into
// files such as mcp.config.json, says which servers of all of them may run, and
// edits the user's file.
//
// It does not start anything, asks nobody for trust, keeps no secret, and does
// not judge what a rule matches or whether its condition holds.
//
// The file is JSON with comments, trailing commas and an optional UTF-8 byte
// order mark, of at most 4 MiB, nested at most 128 deep. A mistake in one entry
// is a [Problem] and costs that entry only. Broken JSON, and a field that is
// written twice outside a server's entry, are an error for the whole file,
// because it is not clear then which rules hold.
//
// # Fields
//
//	mcpServers             object   the servers by name; also written as servers
//	  type                 string   stdio | http (also streamable-http) | sse | ws (also websocket) | grpc; default: command
//	                                means stdio; of a url, ws:// means ws, grpc:// means grpc, and all else http, and sse
//	                                where the server turns out to be that old
//	  command       ${}    string   stdio: the program
//	  args          ${}    list     stdio: its arguments, strings
//	  env           ${}    object   stdio: variables; a string, number or bool; null sets nothing
//	  cwd           ${}    string   stdio: its working folder; a leading ~/ is the home folder
//	  url           ${}    string   http, sse: https:// or http://; ws: wss:// or ws://; grpc: grpcs://host:port or
//	                                grpc://host:port; all of them: unix:///run/x.sock, behind which :/path (or #/path) is
//	                                the path that is asked for
//	  headers       ${}    object   with a url: values as for env; grpc: metadata
//	  bearerToken   ${}    string   with a url: the header Authorization: Bearer …; bearer_token_env_var names a variable
//	                                that holds the token
//	  tls                  object   with an https://, wss:// or grpcs:// url
//	    ca          ${}    string   file of the authorities that count instead of the system's
//	    cert, key   ${}    string   files of the client certificate and its key
//	    serverName  ${}    string   what the server's certificate must name; default: the host
//	  disabled             bool     true: keep the entry, don't start it; enabled: false means the same
//	  trustHints           bool     whether the server's hints may lower a risk; default: usher's
//	  startTimeout         duration until the server has answered the first time; default: 10s, of a package runner such as
//	                                npx or docker run 2m for the first start
//	  callTimeout          duration how long a call may stay without answer or progress; default: 30s, and no limit for
//	                                agents in front of the gateway, who have clocks of their own
//	  callLimit            duration how long a call may take in all; default: 10m, and never less than callTimeout
//	  timeout              number   callTimeout in milliseconds, as other products write it; below 1000 it is ignored
//	  restart              bool or  stdio: whether, or how, a program that ended is started again; default: true
//	                       object
//	    base, cap          time     the first wait and the longest; 500ms, 10s
//	    factor             number   how many times longer each wait is, 1 to 100; 2
//	    jitter             number   the share by which a wait varies, 0 to 1; 0.25
//	    attempts           integer  restarts in a row that may fail, 0 to 1000; 3
//	    stableAfter        time     a server that was up for so long starts counting anew; 60s
//	  reconnect            bool or  with a url: whether, or how, a server that was lost is reached again; default: true
//	                       object
//	    immediate          bool     the first attempt waits for nothing; true
//	    base, cap, factor, jitter, attempts: as in restart; 1s, 8s, 2, 0, 5
//	    errors             integer  failed calls in a row after which the connection is made anew, 0 (never) to 1000; 3
//	  retry                bool or  whether, or how, a call that did not run, or may run twice, is sent again; default: true
//	                       object
//	    immediate, base, cap, factor, jitter, attempts: as in reconnect; true, 1s, 30s, 2, 0.25, 5
//	  idempotent           list     the server's own names of tools that may run twice, with * and ?; default: none
//	  breaker              bool or  whether, or when, calls are kept away from a server that fails; default: true
//	                       object
//	    failures           integer  within the window that open it, 1 to 10000; 5
//	    window, cooldown   time     in which failures count, and how long it stays open; 60s, 30s
//	    probes             integer  calls that may try it then, 1 to 100; 3
//	  maxConcurrent        integer  calls that the server has at once, up to 100000; 0: no bound; default: 512
//	  isolation            string   who shares a connection: auto (default) | shared (all) | session | call (one for each)
//	  stateful             bool     whether the server remembers who is connected, which matters to auto; default: false
//	  pool                 bool or  with a url: whether, or how many, connections serve calls that need no session; default:
//	                       object   true
//	    min, max           integer  how many are open, up to 256; 2, 10
//	    idle               time     an unused one is closed after this; 5m
//	    ping               time     how often an unused one is asked whether it lives; 0: never; 60s
//	  subscribe            bool     whether to hear of changes of the server's lists; default: true
//	  listTTL              duration how long a list is good where the server doesn't say; default: until it says that it changed
//	defaults               object   for all servers: the fields from startTimeout on, without timeout; an entry's own wins
//	profile                string   what the defaults are: minimal (only stdio, a process for each call, 3 retries at fixed
//	                                intervals, no breaker, no pool, no subscribe) | professional (stdio, http and sse, no
//	                                breaker, a pool of at most 5; like minimal it keeps lists in memory only) | enterprise
//	                                (default: all, as above); a server of another transport is a problem
//	permissions            object
//	  deny, ask, allow     list     rules such as "mcp.fs.*", or objects; the first list that matches wins, in this order
//	    rule               string   the rule; needed
//	    when               string   a condition in CEL, up to 8 KiB
//	    entry              string   the hash of the one server's entry that the rule is for, "sha256:…"
//	  mode                 string   how to treat what no rule decides: default | accept-reads | plan | dont-ask | bypass
//	  modes                list     the modes that may be used; only in an administrator's file
//	  grants               list     what was answered with always; usher writes it
//	    tool               string   the tool's full name; needed
//	    entry, definition  string   the hashes of its server's entry and of its definition; needed, for a built-in tool only
//	                                the latter
//	    package            string   what the entry ran, such as npm:name@1.2.3
//	  risk                 object   by tool: a label, or {"risk": label, "hash": hash of the definition it was given for};
//	                                labels: read, write, network, execute, destructive
//	approvals              object
//	  wait                 time     how long a call waits for an answer, up to 1h; 0: not at all; default: 25s
//	  keep                 time     how long a question stays open, 1s to 168h; default: 15m
//	flows                  string   what to do about calls that could carry private data out: off | ask (default) | deny; or
//	                       or       an object
//	                       object
//	  mode                 string   the same
//	  labels               object   by rule, such as "mcp.mail.*": a list of private (what these tools return is the user's
//	                                own), untrusted (anybody may have written it) and egress (what they are given leaves the
//	                                machine)
//	  inherit              time     how long a client's later sessions take over what an earlier one took in, up to 168h;
//	                                0: they don't; default: 1h
//	projects               object   by the whole path of a folder, or ~/…: mcpServers, servers and permissions that hold in
//	                                it and below; of several the nearest counts
//	allowedServers         list     the only servers that may run; also allowedMcpServers
//	deniedServers          list     servers that may not run; also deniedMcpServers. Each is an object with one of
//	  serverName           string   its name
//	  serverCommand ${}    list     its program and every argument
//	  serverUrl     ${}    string   its address, in which * stands for any characters
//	allowManagedServersOnly bool    no other file's allowedServers count; only in an administrator's file; also
//	                                allowManagedMcpServersOnly
//	trustedServers         list     as deniedServers: entries of projects that need no trust; only in an administrator's file
//	log                    object
//	  durability           string   process (default: handed to the operating system) | full (on the disk)
//	  dir           ${}    string   folder of the event log; default: usher's
//	locale                 string   of what the agent reads when a call fails: en (default) | zh
//	errors                 object   adds to the table of errors
//	  codes                object   by JSON-RPC code of a server, such as "-32050": a kind
//	  statuses             object   by HTTP status of a server, from 400 to 599: a kind
//	  texts                object   by reason in the log, such as timeout: {"en": text, "zh": text}, with {tool}, {server},
//	                                {detail} and {retry} in it, at least one of the first two
//	$schema                string   ignored; [Schema] is what it may name
//
// A project's file has only mcpServers, permissions.deny, permissions.ask and
// flows.labels, which only add; projects has mcpServers and permissions; a file
// of imported servers has mcpServers and the three lists of permissions. All
// else in them is a Problem and counts for nothing, trustHints of a project
// included. A server of a project, or of a folder under projects, runs in that
// folder if its cwd is not absolute.
//
// A kind is auth, invalid_params, mcp_server_unavailable, not_found, protocol, resource_not_found, server_error, timeout or
// too_large, or one of the families AuthError, NetworkError, ResourceError and ToolError.
//
// Credentials for another machine in plaintext (http://, ws://) are a problem
// that costs nothing; with grpc://, which takes no header there, they cost the
// entry. The files of tls are PEM files. A leading ~/ is the home folder; a path that
// is not absolute is one below the folder of the configuration.
//
// A duration is a number of milliseconds or a string such as "30s" or "2m"; 0
// means the default; it is at most 7 days. A time is written so, too, and is 10 ms or more. Where an object may
// be true or false, true takes its defaults, and the members that it leaves out have theirs; of base and cap, and
// of min and max, the one that isn't written gives way. A server's name has at most 64 bytes
// and no control character; "local", "usher" and names that start with "usher-"
// are usher's own.
//
// # Variables
//
// In the fields marked ${}, ${NAME} is the variable's value and ${NAME:-text} is
// text where the variable is unset or empty. $${ stands for ${ itself. Anything
// else that starts with ${ stays as it is. A variable that is not set and has no
// default costs the entry, unless the entry is disabled. Values are not expanded
// again, and nothing is ever executed.
//
// ${keyring:name} is a secret of the user's keyring. It has no default; one that
// can't be had costs the entry. It is looked up only for an entry that may run,
// and so is nothing of a project's entry before it is trusted: until then the
// entry stays as it is written.
package config
