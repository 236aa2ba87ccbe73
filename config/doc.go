// Package config reads what a user writes into mcp.config.json and edits the
// permission rules in it.
//
// It does not start anything, does not read a project's file, does not merge
// sources, and does not judge what a rule matches.
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
//	  startTimeout         duration until the server has answered the first time; default: usher's
//	  callTimeout          duration for one call; default: usher's
//	  timeout              number   callTimeout in milliseconds, as other products write it; below 1000 it is ignored
//	  trustHints           bool     whether the server's hints may lower a risk; default: usher's
//	permissions            object
//	  deny, ask, allow     list     rules such as "mcp.fs.*"; the first list that matches wins, in this order
//	  risk                 object   by tool: a label, or {"risk": label, "hash": hash of the definition it was given for};
//	                                labels: read, write, network, execute, destructive
//	log                    object
//	  durability           string   process (default: handed to the operating system) | full (on the disk)
//	  dir           ${}    string   folder of the event log; default: usher's
//	$schema                string   ignored
//
// Credentials for another machine in plaintext (http://, ws://) are a problem
// that costs nothing; with grpc://, which takes no header there, they cost the
// entry. The files of tls are PEM files. A leading ~/ is the home folder; a path that
// is not absolute is one below the folder of the configuration.
//
// A duration is a number of milliseconds or a string such as "30s" or "2m"; 0
// means the default; it is at most 7 days. A server's name has at most 64 bytes
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
package config
