package cli

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/secret"
)

// trustEntry is an entry of a project's file as a person looks at it before they trust it: as it is written, with
// variables unexpanded.
type trustEntry struct {
	Name      string            `json:"name"`
	File      string            `json:"file"`
	Line      int               `json:"line"`
	Transport string            `json:"transport"`
	Disabled  bool              `json:"disabled,omitempty"`
	Command   string            `json:"command,omitempty"`
	Args      []string          `json:"args,omitempty"`
	Dir       string            `json:"cwd,omitempty"`
	URL       string            `json:"url,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	TLS       map[string]string `json:"tls,omitempty"`
	Risks     []string          `json:"risks"`

	folder string
}

func viewsOf(c *config.Config, entries []config.Server) []trustEntry {
	all := make([]trustEntry, 0, len(entries))
	for _, s := range entries {
		all = append(all, viewOf(c, s))
	}
	return all
}

// viewOf takes all from the entry that trust is for, and nothing from a second look at the file.
func viewOf(c *config.Config, s config.Server) trustEntry {
	e := trustEntry{
		Name: s.Name, File: s.File, Line: s.Line, Transport: s.Transport, Disabled: s.Disabled, Command: s.Command, Args: s.Args,
		Dir: s.Dir, URL: s.URL, TLS: map[string]string{}, folder: c.Folder,
	}
	for name, value := range map[string]string{"ca": s.TLS.CA, "cert": s.TLS.Cert, "key": s.TLS.Key, "serverName": s.TLS.ServerName} {
		if value != "" {
			e.TLS[name] = value
		}
	}
	e.Risks = risksOf(s, c.Folder)
	secrets := c.Secrets()
	if runsText(s) { // a value may be what runs
		secrets = nil
	}
	e.Env, e.Headers = withoutTokens(s.Env, secrets), withoutTokens(s.Headers, secrets)
	return e
}

func withoutTokens(values map[string]secret.Value, secrets []string) map[string]string {
	out := map[string]string{}
	for name, v := range values {
		out[name] = withoutToken(v.Reveal(), secrets)
	}
	return out
}

// token is what a credential looks like, and neither a path, an option, an address nor a command line does. Those are
// shown: a name that sounds secret must not hide what runs.
var token = regexp.MustCompile(`^[A-Za-z0-9_+=][A-Za-z0-9_.~+/=-]*$`)

// withoutToken hides a literal that the reader took for a secret.
func withoutToken(value string, secrets []string) string {
	scheme, rest, ok := strings.Cut(value, " ")
	switch {
	case slices.Contains(secrets, value) && token.MatchString(value):
		return secret.Mask
	case ok && token.MatchString(rest) && (slices.Contains(secrets, rest) || slices.Contains(secrets, value)):
		return scheme + " " + secret.Mask
	}
	return value
}

// showEntry shows an entry whole, each argument on a line of its own; nothing is cut. It goes where the question is asked.
func (a *app) showEntry(e trustEntry) {
	if a.json {
		return
	}
	w := a.err
	fmt.Fprintf(w, "%s  %s  %s\n", w.paint(bold, line(e.Name)), e.Transport, w.paint(dim, fmt.Sprintf("%s:%d", line(homely(e.File)), e.Line)))
	row := func(name, text string) { fmt.Fprintf(w, "  %s %s\n", w.paint(dim, pad(name, 8)), text) }
	if e.Command != "" {
		row("command", exact(e.Command))
	}
	for i, arg := range e.Args {
		row(once(i, "args"), exact(arg))
	}
	if e.URL != "" {
		row("url", exact(e.URL))
	}
	rows := func(head string, values map[string]string) {
		for i, name := range slices.Sorted(maps.Keys(values)) {
			row(once(i, head), exactName(name)+" = "+exact(values[name]))
		}
	}
	rows("env", e.Env)
	rows("headers", e.Headers)
	rows("tls", e.TLS)
	if e.Command != "" {
		row("cwd", e.cwd())
	}
	if e.Disabled {
		row("", "it is disabled there, so it doesn't run yet")
	}
	for _, text := range e.Risks {
		fmt.Fprintf(w, "  %s %s\n", w.paint(yellow, "!"), w.wrapped(line(text), 4))
	}
}

func (e trustEntry) cwd() string {
	switch {
	case e.Dir == "":
		return exact(e.folder)
	case filepath.IsAbs(e.Dir), strings.HasPrefix(e.Dir, "~"), strings.HasPrefix(e.Dir, "$"):
		return exact(e.Dir)
	}
	return exact(filepath.Join(e.folder, e.Dir))
}

func once(i int, s string) string {
	if i > 0 {
		return ""
	}
	return s
}

// exact shows a text in quotes, so that what it begins and ends with is seen, and what isn't just seen as an escape.
func exact(s string) string {
	quoted := strconv.Quote(s)
	if !strings.ContainsFunc(quoted, unseen) {
		return quoted
	}
	var b strings.Builder
	for _, r := range quoted {
		if unseen(r) {
			b.WriteString(visible(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unseen tells the characters that count as letters or marks and show nothing.
func unseen(r rune) bool {
	return fillers(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_./@:=,+-]+$`)

func exactName(s string) string {
	if plainName.MatchString(s) {
		return s
	}
	return exact(s)
}
