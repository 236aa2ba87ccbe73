package cli

const configHelp = `Usher reads one file, by default ~/.config/usher/mcp.config.json (below XDG_CONFIG_HOME where
that is set); --config or USHER_CONFIG name another. It is JSON; comments and trailing commas are allowed.

The servers are written as other MCP clients write them:

` + firstConfig + `

Fields of a server, under "mcpServers" (or "servers"):

  command       the program of a local server
  args          its arguments, a list of strings
  env           its variables, {"NAME": "value"}
  cwd           its working folder; ~/ is your home
  url           the address of a remote server, in place
                of command: https://…, wss://…,
                grpcs://host:port, the same without TLS,
                or unix:///path/to.sock (with the path
                that is asked for behind a colon:
                unix:///path/to.sock:/mcp)
  headers       for a remote server, {"Name": "value"}
  bearerToken   the token that it wants, in place of an
                Authorization header
  tls           for a remote server: "ca", "cert", "key"
                (PEM files) and "serverName"
  type          stdio, http, sse, ws or grpc; needed where
                the url doesn't tell: sse (found by
                itself, but later), and ws or grpc at a
                unix socket
  disabled      true: keep the entry, don't start it; also
                "enabled": false
  trustHints    false: don't believe what it says about
                its own tools; default true

These say how it is kept alive. They also go into "defaults", at the top of the file, for all
servers. A time is such as "30s" or "2m"; a number is milliseconds.

  startTimeout  until it has answered the first time;
                default 10 s, and 2 min for the first
                start of npx, uvx, docker run and such
  callTimeout   how long a call may take without a sign
                of progress; default 30 s, for agents of
                usher serve no limit but callLimit; also
                "timeout", a number of milliseconds
  callLimit     how long it may take in all; default
                10 min
  restart       of a program: false, or {"attempts": 3,
                "base": "500ms", "cap": "10s", "factor":
                2, "jitter": 0.25, "stableAfter": "60s"},
                the default
  reconnect     to a remote server: false, or
                {"attempts": 5, "immediate": true, "base":
                "1s", "cap": "8s", "factor": 2, "jitter":
                0, "errors": 3}; errors: failed calls
                after which the connection is made anew
  retry         of a call that did not run: false, or
                {"attempts": 5, "immediate": true, "base":
                "1s", "cap": "30s", "factor": 2, "jitter":
                0.25}
  idempotent    its tools that may run twice, such as
                ["get_*"]; these are retried, too
  breaker       keeps calls away from a server that fails:
                false, or {"failures": 5, "window": "60s",
                "cooldown": "30s", "probes": 3}
  maxConcurrent calls that it has at once; default 512; 0:
                as many as come
  isolation     who shares a connection to it: auto (the
                default), shared (all agents), session
                (each agent has its own) or call
  stateful      true: it remembers who is connected, so
                auto gives each agent a connection
  pool          of connections to a remote server: false,
                or {"min": 2, "max": 10, "idle": "5m",
                "ping": "60s"}
  subscribe     false: don't hear of changes of its lists
  listTTL       how long its lists are good if it doesn't
                say; default: until it says that they
                changed

${NAME} is the value of a variable of yours, ${NAME:-text} has a default, $${ stands for ${
itself. ${keyring:NAME} is a secret of your keyring; usher secret set NAME keeps it there.
This works in all texts of a server and in log.dir.

A server doesn't get your whole environment, only HOME, USER, LOGNAME, SHELL, PATH, TERM, LANG
and LC_*, TZ, TMPDIR, and the variables for proxies and certificates. Name what else it
needs:

    "env": { "JIRA_TOKEN": "${JIRA_TOKEN}" }

Fields of "permissions":

  deny, ask, allow
        lists of patterns
  risk  the risk of single tools, by full name: read,
        write, network, execute, destructive; usher
        allow TOOL --risk LEVEL writes {"risk": LEVEL,
        "hash": …}, for the definition that you saw; a
        label without its hash can only raise the risk
  mode  how to treat what no rule decides: default;
        accept-reads (a tool that calls itself read-only
        runs); plan (only reads run); dont-ask (what
        would ask is denied); bypass (it runs)
  grants
        what you answered with always, for a tool as it
        was then; usher writes it

A pattern is a tool's full name, in which * stands for any characters. Nothing else is
special: ? and [ ] stand for themselves.

  mcp.fs.read_file   one tool of the server fs
  mcp.fs.get_*       some tools of it
  mcp.fs.*           all of them; also mcp.fs
  mcp.fs.write(path:/tmp/**)
                     where an argument is so; in its
                     value * is no slash, ** is anything
  mcp.*              all tools of all servers
  local.read_file    a built-in tool; also read_file
  *                  everything

mcp__fs__read_file is the same in the spelling of models. A rule for mcp.fs.* doesn't reach a
server called fs2.

In place of a pattern there may be an object: {"rule": "mcp.fs.*", "when": CONDITION}, with a
condition in CEL, or {"rule": "mcp.fs.*", "entry": HASH}, for that one entry of a server.
A condition may use

  server, tool, source, client, principal     texts; source is user, project …
  args                arguments; ask first whether one is there: has(args.to) &&
                      args.to.endsWith('@example.com')
  risk                read < write < network < execute < destructive, such as
                      risk >= network
  annotations         the server's hints: annotations.readOnlyHint …
  session             id, kind, mode, labels: "private" in session.labels

and what CEL has: && || ! in, .startsWith .endsWith .contains .matches .size() .exists …
One that doesn't compile or can't be evaluated makes a deny or ask rule count, an allow
rule not.

Deny wins over ask, and ask over allow, however exact the rules are. Where no rule matches,
the risk decides: a call that only reads runs, all others ask. A destructive call asks each
time, also where a rule allows it; to let rules decide, give the tool, as it is defined now,
another risk: usher allow mcp.fs.write_file --risk write.

What only reads is what a server's hints say. They are trusted because you wrote its entry
yourself; "trustHints": false in the entry turns that off, and all its tools ask until a
rule allows them.

An allow rule of yours reaches your own servers. For one that a folder brings, or that was
imported, usher allow binds the rule to its entry, and it holds until that changes.

Servers that a folder brings, in .mcp.json or mcp.config.json, wait until you trust them:
usher trust.

Fields of "log":

  durability    process (default): an event is handed to
                the operating system before the call
                goes on; full: it is on the disk
  dir           the folder of the event log

Other fields:

  approvals     "wait": how long a call waits for your
                answer (25s; 0: not at all); "keep": how
                long the question stays open (15m)
  flows         off, ask (the default) or deny: what to do
                about calls that could carry private data
                out; or {"mode": "ask", "labels":
                {"mcp.mail.*": ["private", "untrusted",
                "egress"]}, "inherit": "1h"}
  projects      what holds in one folder: {"~/work/x":
                {"mcpServers": {…}, "permissions": {…}}}
  allowedServers, deniedServers
                lists of {"serverName": NAME},
                {"serverCommand": [PROGRAM, ARGUMENT…]} and
                {"serverUrl": "https://host/*"}: which
                servers may run at all
  defaults      see above, such as {"callTimeout": "2m"}
  profile       where the defaults come from: enterprise,
                the default; professional: stdio, http and
                sse only, no breaker, a pool of at most 5;
                minimal: stdio only, a process for each
                call, 3 retries, no breaker, no pool
  locale        en or zh: the language in which an agent
                reads why a call failed
  errors        "codes" and "statuses" say what an error
                of a server means: {"-32050": "auth"},
                {"423": "timeout"}; "texts" what the agent
                reads: {"timeout": {"en": "{tool} of
                {server} hangs: {detail}"}}, by the reason
                in the log

A whole one:

{
  "mcpServers": {
    "jira": {
      "url": "https://jira.example/mcp",
      "headers": { "Authorization":
        "Bearer ${JIRA_TOKEN}" },
      "callTimeout": "2m"
    }
  },
  "permissions": {
    "deny": ["mcp.jira.delete_*"],
    "allow": ["mcp.jira.add_comment"]
  },
  "log": { "durability": "full" }
}

A mistake costs one entry, and is named with its line. A mistake under "permissions" makes
all calls ask until it is repaired, because what can't be read may have been a deny.

Check the file with: usher doctor
For an editor that checks it while you write: usher config schema
`
