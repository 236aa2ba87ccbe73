package config

// The types below are the file as a JSON Schema describes it. Tags: json is the name, doc what a person reads; enum, min and
// max are the values; also says which other kinds are allowed: "bool", "string" or "object". Time is written as a number or
// a text.

type fileForm struct {
	Schema      string                 `json:"$schema" doc:"The address of this schema, for editors; otherwise ignored."`
	Servers     map[string]*serverForm `json:"mcpServers" doc:"The servers, by name."`
	Others      map[string]*serverForm `json:"servers" doc:"Another spelling of mcpServers."`
	Defaults    *tuneForm              `json:"defaults" doc:"For all servers; what an entry says itself wins."`
	Profile     string                 `json:"profile" enum:"minimal,professional,enterprise" doc:"What the defaults are; default: enterprise."`
	Permissions *permissionsForm       `json:"permissions" doc:"Which tools run, ask or are denied."`
	Approvals   *approvalsForm         `json:"approvals" doc:"How long somebody waits for an answer."`
	Flows       *flowsForm             `json:"flows" also:"string" enum:"off,ask,deny" doc:"What to do about calls that could carry private data out; default: ask."`
	Projects    map[string]*localForm  `json:"projects" doc:"What holds in one folder and those below it, by its whole path."`
	Log         *logForm               `json:"log" doc:"How events are kept."`
	Locale      string                 `json:"locale" doc:"The language in which an agent reads why a call failed: en or zh; default: en."`
	Errors      *errorsForm            `json:"errors" doc:"Adds to the table of errors."`
	Allowed     []*matchForm           `json:"allowedServers" doc:"The only servers that may run; an empty list allows none."`
	AllowedMcp  []*matchForm           `json:"allowedMcpServers" doc:"Another spelling of allowedServers."`
	Denied      []*matchForm           `json:"deniedServers" doc:"Servers that may not run, whatever else is said."`
	DeniedMcp   []*matchForm           `json:"deniedMcpServers" doc:"Another spelling of deniedServers."`
	Only        bool                   `json:"allowManagedServersOnly" doc:"In an administrator's file only: no other file's allowedServers count."`
	OnlyMcp     bool                   `json:"allowManagedMcpServersOnly" doc:"Another spelling of allowManagedServersOnly."`
	Trusted     []*matchForm           `json:"trustedServers" doc:"In an administrator's file only: entries of projects that need no trust."`
}

type localForm struct {
	Servers     map[string]*serverForm `json:"mcpServers" doc:"The servers, by name."`
	Others      map[string]*serverForm `json:"servers" doc:"Another spelling of mcpServers."`
	Permissions *permissionsForm       `json:"permissions" doc:"Which tools run, ask or are denied."`
}

type matchForm struct {
	Name    string   `json:"serverName" doc:"The name of a server."`
	Command []string `json:"serverCommand" doc:"Its program and every argument, in order."`
	URL     string   `json:"serverUrl" doc:"Its address, in which * stands for any characters."`
}

type serverForm struct {
	Type       string            `json:"type" doc:"stdio, http (also streamable-http), sse, ws (also websocket) or grpc; default: what command or url says."`
	Command    string            `json:"command" doc:"The program of a local server."`
	Args       []string          `json:"args" doc:"Its arguments."`
	Env        map[string]scalar `json:"env" doc:"Its variables; null sets nothing."`
	Dir        string            `json:"cwd" doc:"Its working folder."`
	URL        string            `json:"url" doc:"The address of a remote server: https://, wss://, grpcs://host:port, the same without TLS, or unix:///path."`
	Headers    map[string]scalar `json:"headers" doc:"What is sent with each request; of grpc: metadata."`
	Bearer     string            `json:"bearerToken" doc:"The header Authorization: Bearer …"`
	Bearer2    string            `json:"bearer_token" doc:"Another spelling of bearerToken."`
	BearerVar  string            `json:"bearerTokenEnvVar" doc:"The name of a variable with the token."`
	BearerVar2 string            `json:"bearer_token_env_var" doc:"Another spelling of bearerTokenEnvVar."`
	TLS        *tlsForm          `json:"tls" doc:"Certificates, for an address that begins with https, wss or grpcs."`
	Disabled   bool              `json:"disabled" doc:"true: keep the entry, don't start it."`
	Enabled    bool              `json:"enabled" doc:"false: the same as disabled: true."`
	TrustHints bool              `json:"trustHints" doc:"Whether the server's hints may lower a risk."`
	Timeout    span              `json:"timeout" doc:"callTimeout in milliseconds, as other products write it."`
	tuneForm
}

type tlsForm struct {
	CA   string `json:"ca" doc:"A PEM file of the authorities that count instead of the system's."`
	Cert string `json:"cert" doc:"A PEM file of the client certificate."`
	Key  string `json:"key" doc:"A PEM file of its key."`
	Name string `json:"serverName" doc:"What the server's certificate must name; default: the host."`
}

type tuneForm struct {
	Start      span           `json:"startTimeout" doc:"Until the server has answered the first time; default: 10s."`
	Call       span           `json:"callTimeout" doc:"How long a call may stay without answer or progress; default: 30s."`
	Limit      span           `json:"callLimit" doc:"How long a call may take in all; default: 10m."`
	Restart    *restartForm   `json:"restart" also:"bool" doc:"Of a program: how it is started again."`
	Reconnect  *reconnectForm `json:"reconnect" also:"bool" doc:"Of a remote server: how it is reached again."`
	Retry      *retryForm     `json:"retry" also:"bool" doc:"How a call that did not run is sent again."`
	Idempotent []string       `json:"idempotent" doc:"The server's own names of tools that may run twice, with * and ?."`
	Breaker    *breakerForm   `json:"breaker" also:"bool" doc:"When calls are kept away from a server that fails."`
	Concurrent int            `json:"maxConcurrent" min:"0" max:"100000" doc:"Calls that the server has at once; 0: no bound; default: 512."`
	Isolation  string         `json:"isolation" enum:"auto,shared,session,call" doc:"Who shares a connection; default: auto."`
	Stateful   bool           `json:"stateful" doc:"Whether the server remembers who is connected."`
	Pool       *poolForm      `json:"pool" also:"bool" doc:"Of a remote server: how many connections serve calls that need no session."`
	Subscribe  bool           `json:"subscribe" doc:"Whether to hear of changes of the server's lists."`
	ListTTL    span           `json:"listTTL" doc:"How long a list is good where the server doesn't say."`
}

type ladderForm struct {
	Base   span    `json:"base" doc:"The first wait."`
	Cap    span    `json:"cap" doc:"The longest wait."`
	Factor float64 `json:"factor" min:"1" max:"100" doc:"How many times longer each wait is."`
	Jitter float64 `json:"jitter" min:"0" max:"1" doc:"The share by which a wait varies."`
	Steps  int     `json:"attempts" min:"0" max:"1000" doc:"How many may fail in a row."`
}

type restartForm struct {
	ladderForm
	Stable span `json:"stableAfter" doc:"A server that was up for so long starts counting anew."`
}

type reconnectForm struct {
	Immediate bool `json:"immediate" doc:"The first attempt waits for nothing."`
	ladderForm
	Errors int `json:"errors" min:"0" max:"1000" doc:"Failed calls in a row after which the connection is made anew."`
}

type retryForm struct {
	Immediate bool `json:"immediate" doc:"The first attempt waits for nothing."`
	ladderForm
}

type breakerForm struct {
	Failures int  `json:"failures" min:"1" max:"10000" doc:"How many within the window open it."`
	Window   span `json:"window" doc:"In which failures count."`
	Cooldown span `json:"cooldown" doc:"How long it stays open."`
	Probes   int  `json:"probes" min:"1" max:"100" doc:"Calls that may try it then."`
}

type poolForm struct {
	Min  int  `json:"min" min:"0" max:"256" doc:"How many are open at least."`
	Max  int  `json:"max" min:"1" max:"256" doc:"How many are open at most."`
	Idle span `json:"idle" doc:"An unused one is closed after this."`
	Ping span `json:"ping" doc:"How often an unused one is asked whether it lives; 0: never."`
}

type permissionsForm struct {
	Deny   []*ruleForm          `json:"deny" also:"string" doc:"Tools that are hidden and refused. Deny wins over ask, and ask over allow."`
	Ask    []*ruleForm          `json:"ask" also:"string" doc:"Tools that ask each time."`
	Allow  []*ruleForm          `json:"allow" also:"string" doc:"Tools that run without asking, but for destructive ones."`
	Risk   map[string]*riskForm `json:"risk" also:"string" enum:"read,write,network,execute,destructive" doc:"The risk of single tools, by full name."`
	Mode   string               `json:"mode" enum:"default,accept-reads,plan,dont-ask,bypass" doc:"How to treat what no rule decides."`
	Modes  []mode               `json:"modes" doc:"In an administrator's file only: the modes that may be used."`
	Grants []*grantForm         `json:"grants" doc:"What was answered with always; usher allow writes it."`
}

type ruleForm struct {
	Rule  string `json:"rule" need:"yes" doc:"A tool's full name, in which * stands for any characters, with arguments in round brackets behind it if they matter."`
	When  string `json:"when" doc:"A condition in CEL."`
	Entry hash   `json:"entry" doc:"The hash of the one server's entry that the rule is for."`
}

type riskForm struct {
	Risk string `json:"risk" need:"yes" enum:"read,write,network,execute,destructive" doc:"The risk."`
	Hash string `json:"hash" doc:"The hash of the definition that it was given for."`
}

type grantForm struct {
	Tool       string `json:"tool" need:"yes" doc:"The tool's full name."`
	Entry      hash   `json:"entry" doc:"The hash of the server's entry."`
	Definition hash   `json:"definition" need:"yes" doc:"The hash of the tool's definition."`
	Package    string `json:"package" doc:"What the entry ran, such as npm:name@1.2.3."`
}

type approvalsForm struct {
	Wait span `json:"wait" doc:"How long a call waits; 0: not at all; default: 25s."`
	Keep span `json:"keep" doc:"How long a question stays open; default: 15m."`
}

type flowsForm struct {
	Mode    string                 `json:"mode" enum:"off,ask,deny" doc:"What to do; default: ask."`
	Labels  map[string][]flowLabel `json:"labels" doc:"What tools take in and give away, by rule."`
	Inherit span                   `json:"inherit" doc:"How long a client's later sessions take over what an earlier one took in; default: 1h."`
}

type logForm struct {
	Durability string `json:"durability" enum:"process,full" doc:"process (default): handed to the operating system; full: on the disk."`
	Dir        string `json:"dir" doc:"The folder of the event log."`
}

type errorsForm struct {
	Codes    map[string]string            `json:"codes" doc:"By JSON-RPC code of a server: what kind of failure it is."`
	Statuses map[string]string            `json:"statuses" doc:"By HTTP status of a server, from 400 to 599."`
	Texts    map[string]map[string]string `json:"texts" doc:"By reason in the log, what an agent reads in each language."`
}

// Values that are more than their Go kind says.
type (
	span      int    // a time
	scalar    string // a string, number, bool or null
	hash      string
	mode      string
	flowLabel string
)

// silentFields are what other products keep in an entry and usher can do without.
var silentFields = []string{"description", "title", "name", "icon", "version", "gallery", "metadata", "bundled", "dev",
	"alwaysLoad", "deferTools", "remoteConfigured", "watchPaths", "comment", "$comment", "_comment"}
