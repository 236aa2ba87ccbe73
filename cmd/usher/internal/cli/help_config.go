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
  startTimeout  until it has answered the first time,
                such as "30s", which is the default; a
                number is milliseconds
  callTimeout   for one call; also "timeout", a number of
                milliseconds
  trustHints    false: don't believe what it says about
                its own tools; default true

${NAME} is the value of a variable of yours, ${NAME:-text} has a default, $${ stands for ${
itself. This works in all texts of a server and in log.dir.

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

A pattern is a tool's full name, in which * stands for any characters. Nothing else is
special: ? and [ ] stand for themselves.

  mcp.fs.read_file   one tool of the server fs
  mcp.fs.get_*       some tools of it
  mcp.fs.*           all of them; also mcp.fs
  mcp.*              all tools of all servers
  local.read_file    a built-in tool; also read_file
  *                  everything

mcp__fs__read_file is the same in the spelling of models. A rule for mcp.fs.* doesn't reach a
server called fs2.

Deny wins over ask, and ask over allow, however exact the rules are. Where no rule matches,
the risk decides: a call that only reads runs, all others ask. A destructive call asks each
time, also where a rule allows it.

What only reads is what a server's hints say. They are trusted because you wrote its entry
yourself; "trustHints": false in the entry turns that off, and all its tools ask until a
rule allows them.

Fields of "log":

  durability    process (default): an event is handed to
                the operating system before the call
                goes on; full: it is on the disk
  dir           the folder of the event log

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
`
