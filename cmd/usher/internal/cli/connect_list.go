package cli

import (
	"fmt"
	"strings"

	"github.com/usher-mcp/usher/internal/connect"
)

// clientJSON is a client as --json shows it.
type clientJSON struct {
	Client  string   `json:"client"`
	Title   string   `json:"title"`
	File    string   `json:"file"`
	Project bool     `json:"project,omitempty"`
	Here    bool     `json:"here"` // on this machine
	There   bool     `json:"there"`
	Usher   []string `json:"usher"` // entries that start usher
	Own     []string `json:"own"`   // other entries
	Error   string   `json:"error,omitempty"`
}

// listClients shows the agents that are on this machine.
func (a *app) listClients(n connection) error {
	if n.undo || n.one || n.project || n.keep || n.yes || n.look || n.file != "" || len(n.only) > 0 {
		return usage("name the client to connect", "These are known: "+strings.Join(clientNames(), ", "))
	}
	states := connect.Look(a.place())
	if a.json {
		return a.clientsJSON(states)
	}
	t := &table{head: []string{"CLIENT", "USHER", "OWN", "FILE"}}
	var absent []string
	connected := false
	for _, s := range states {
		if !s.Here && !s.There {
			absent = append(absent, s.Client.Name)
			continue
		}
		connected = connected || len(s.Ours) > 0
		t.add(a.clientRow(s)...)
	}
	if len(t.rows) == 0 {
		fmt.Fprintln(a.err, "no agent that usher knows is on this machine")
	} else {
		t.print(a.out)
	}
	if len(absent) > 0 {
		fmt.Fprintln(a.err, a.err.wrapped("not here: "+strings.Join(absent, ", "), 2))
	}
	for _, s := range states {
		if s.Err != nil {
			fmt.Fprintf(a.err, "%s %s\n", a.err.paint(yellow, "note:"), a.err.wrapped(line(s.Err.Error()), len("note: ")))
		}
	}
	if len(t.rows) > 0 && !connected {
		fmt.Fprintf(a.err, "To put usher into one, run: %s connect CLIENT\n", line(a.command()))
	}
	return nil
}

func (a *app) clientRow(s connect.State) []cell {
	name := cell{s.Client.Name, bold}
	file := homely(s.File)
	if s.Project {
		file += " (project)"
	}
	usher, style := "–", dim
	switch {
	case s.Err != nil:
		usher, style = "unreadable", red
	case len(s.Ours) > 0:
		usher, style = line(strings.Join(servedBy(s.Ours), ", ")), green
	}
	own := ""
	if len(s.Own) > 0 {
		own = fmt.Sprint(len(s.Own))
	}
	return []cell{name, {cut(usher, 30), style}, {own, ""}, {line(file), dim}}
}

// servedBy are the servers that entries of usher's are for.
func servedBy(entries []connect.Entry) (names []string) {
	for _, e := range entries {
		served := e.Serves()
		if len(served) == 0 {
			served = []string{"all servers"}
		}
		names = append(names, served...)
	}
	return names
}

func (a *app) clientsJSON(states []connect.State) error {
	all := []clientJSON{}
	for _, s := range states {
		c := clientJSON{s.Client.Name, s.Client.Title, s.File, s.Project, s.Here, s.There, names(s.Ours), names(s.Own), ""}
		if s.Err != nil {
			c.Error = s.Err.Error()
		}
		all = append(all, c)
	}
	return writeJSON(a.out, map[string]any{"clients": all})
}

func names(entries []connect.Entry) []string {
	all := []string{}
	for _, e := range entries {
		all = append(all, e.Name)
	}
	return all
}
