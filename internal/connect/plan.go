package connect

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Server is one that usher serves.
type Server struct {
	Name    string
	Command []string // what usher starts, with the arguments; empty if it is an address
	URL     string
	Vars    []string // variables that its entry names
}

// Options say what to connect.
type Options struct {
	Client  *Client
	Place   Place
	Project bool   // the project's file, not the user's
	File    string // in place of the client's own; "" is that
	Data    string // usher's data folder: copies and records go into its folder "connect"

	Command string   // how a client starts usher
	Args    []string // flags that usher needs there
	Servers []Server // all that usher serves
	Only    []string // names of servers; none: all
	One     bool     // one entry for all of them
	KeepOwn bool     // entries of the client's own for the same servers stay
	Now     func() time.Time
}

// What a Change does.
const (
	Added     = "added"     // an entry of ours that is new
	Updated   = "updated"   // an entry of ours that was there, otherwise
	Unchanged = "unchanged" // an entry of ours that is as it is to be
	Moved     = "moved"     // an entry of the client's own for a server that usher serves: ours comes in its place, or is there already
	Kept      = "kept"      // such an entry that stays, and goes past usher
	Removed   = "removed"   // an entry of ours
	Restored  = "restored"  // an entry of the client's own that comes back
	Lost      = "lost"      // one that can't come back by itself; the copy has it
	Refused   = "refused"   // a server whose name the client keeps for itself
)

// Change is one of a Plan.
type Change struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`             // of the entry
	Server string `json:"server,omitempty"` // of usher's; "": all
	Was    Entry  `json:"-"`                // of an entry of the client's own
}

// Plan is what is to become of a file.
type Plan struct {
	Client  *Client
	File    string // as it was looked for
	Target  string // where that leads to by links
	Before  []byte // nil: there is none
	After   []byte // nil: there will be none
	Changes []Change
	Undo    bool
	Exact   bool // an undo that makes the file what it was before, to the byte

	project bool
	data    string
	next    *Record // nil: none is kept
	made    []string
	now     func() time.Time
}

// Changed reports whether the file is to be another.
func (p *Plan) Changed() bool {
	return !bytes.Equal(p.Before, p.After) || (p.Before == nil) != (p.After == nil)
}

// Mistake is an error that is for the person: what to do otherwise.
type Mistake struct{ Text, Hint string }

func (m *Mistake) Error() string { return m.Text }

// New plans to connect. The file isn't touched. A *config.Problem or another error means that it can't be read, or can't
// be changed without touching what isn't usher's.
func New(o Options) (*Plan, error) {
	p, prev, err := o.begin()
	if err != nil {
		return nil, err
	}
	entries, err := p.entries(p.Before)
	if err != nil {
		return nil, err
	}
	w := &wanting{Options: o, entries: entries, prev: prev}
	w.decide()
	p.Changes = w.changes
	if p.After, err = o.Client.rewrite(p.File, p.Before, w.edits); err != nil {
		return nil, err
	}
	if len(w.edits) == 0 {
		p.After = p.Before
		return p, nil
	}
	p.next = prev.after(p, w)
	return p, nil
}

// begin reads the file and what is recorded of it.
func (o Options) begin() (*Plan, *Record, error) {
	file := cmp.Or(o.File, o.Client.File(o.Place, o.Project))
	if file == "" {
		return nil, nil, &Mistake{o.Client.Title + " has no file for a project", "Leave out --project"}
	}
	p := &Plan{Client: o.Client, File: file, project: o.Project, data: o.Data, now: o.Now}
	if p.now == nil {
		p.now = time.Now
	}
	var err error
	if p.Target, err = follow(file); err != nil {
		return nil, nil, err
	}
	if o.Project && o.File == "" && !inside(o.Place.Dir, p.Target) { // who wrote the link may be somebody else
		return nil, nil, &Mistake{file + " leads out of the project, to " + p.Target, "If that file is meant, name it with --file"}
	}
	if p.Before, err = readTarget(p.Target); err != nil {
		return nil, nil, err
	}
	prev, err := readRecord(o.Data, recordID(o.Client.Name, p.Target))
	return p, prev, err
}

func (p *Plan) entries(data []byte) ([]Entry, error) {
	all, err := p.Client.format.entries(p.File, data, p.Client.rootIn(data))
	if err == nil {
		_, err = p.Client.format.decode(data)
	}
	return all, err
}

// wanting finds out what is to be done.
type wanting struct {
	Options
	entries []Entry
	prev    *Record

	changes []Change
	edits   []edit
	ours    []recorded // all that will be there
	moved   []moved
	done    map[string]bool // entries that have been looked at
}

func (w *wanting) note(kind, name, server string, was Entry) {
	w.changes = append(w.changes, Change{kind, name, server, was})
}

// want is an entry that is to be there.
type want struct {
	name, server string
	fields       []field
}

func (w *wanting) decide() {
	w.done = map[string]bool{}
	wants := w.wants()
	for _, want := range wants {
		w.place(want)
	}
	for _, e := range w.entries {
		if w.done[e.Name] {
			continue
		}
		if s, ok := w.direct(e); ok {
			w.move(e, s)
		} else if len(w.Only) == 0 && w.prev.has(e.Name) && e.Ours() { // of a server that has gone
			w.edits = append(w.edits, edit{name: e.Name})
			w.note(Removed, e.Name, "", Entry{})
		} else if w.prev.has(e.Name) && e.Ours() {
			w.ours = append(w.ours, recorded{Name: e.Name})
		}
	}
}

// chosen are the servers that are connected.
func (w *wanting) chosen() []Server {
	if len(w.Only) == 0 {
		return w.Servers
	}
	var all []Server
	for _, name := range w.Only {
		i := slices.IndexFunc(w.Servers, func(s Server) bool { return s.Name == name })
		if i < 0 {
			all = append(all, Server{Name: name}) // what is built in
			continue
		}
		all = append(all, w.Servers[i])
	}
	return all
}

func (w *wanting) wants() (all []want) {
	make := func(name, server string, vars []string, args ...string) {
		vars = slices.Compact(slices.Sorted(slices.Values(vars)))
		l := launch{name, w.Command, slices.Concat([]string{"stdio"}, args, w.Args), vars}
		all = append(all, want{name, server, w.Client.shape(l)})
	}
	if w.One {
		var vars, only []string
		for _, s := range w.chosen() {
			vars = append(vars, s.Vars...)
			if len(w.Only) > 0 {
				only = append(only, "--only", s.Name)
			}
		}
		make("usher", "", vars, only...)
		return all
	}
	for _, s := range w.chosen() {
		name := w.Client.entryName(s.Name)
		if slices.Contains(w.Client.taken, name) || slices.ContainsFunc(all, func(o want) bool { return o.name == name }) {
			w.note(Refused, name, s.Name, Entry{})
			continue
		}
		make(name, s.Name, s.Vars, "--only", s.Name)
	}
	return all
}

// place sees to one entry of ours.
func (w *wanting) place(want want) {
	w.done[want.name] = true
	i := slices.IndexFunc(w.entries, func(e Entry) bool { return e.Name == want.name })
	change := edit{name: want.name, fields: want.fields}
	switch {
	case i < 0:
		w.note(Added, want.name, want.server, Entry{})
	case !w.entries[i].Ours() && w.KeepOwn:
		w.note(Kept, want.name, want.server, w.entries[i])
		return
	case !w.entries[i].Ours():
		change.whole = true
		w.moved = append(w.moved, moved{want.name, w.entries[i].text})
		w.note(Moved, want.name, want.server, w.entries[i])
	case len(w.entries[i].lacks(want.fields)) == 0:
		w.note(Unchanged, want.name, want.server, Entry{})
		w.ours = append(w.ours, recorded{want.name, want.server})
		return
	default:
		change.fields = w.entries[i].lacks(want.fields)
		w.note(Updated, want.name, want.server, Entry{})
	}
	w.edits = append(w.edits, change)
	w.ours = append(w.ours, recorded{want.name, want.server})
}

// direct finds the server that an entry of the client's own leads to past usher.
func (w *wanting) direct(e Entry) (Server, bool) {
	if e.Ours() {
		return Server{}, false
	}
	for _, s := range w.chosen() {
		if e.sameEnd(s) || w.One && e.Name == w.Client.entryName(s.Name) {
			return s, true
		}
	}
	return Server{}, false
}

func (w *wanting) move(e Entry, s Server) {
	if w.KeepOwn {
		w.note(Kept, e.Name, s.Name, e)
		return
	}
	w.edits = append(w.edits, edit{name: e.Name})
	w.moved = append(w.moved, moved{e.Name, e.text})
	w.note(Moved, e.Name, s.Name, e)
}

// ErrNotConnected is for an undo where there is nothing to undo.
var ErrNotConnected = errors.New("usher isn't connected")

// ErrChanged is for a file that somebody else has written since it was read.
var ErrChanged = errors.New("the file has changed meanwhile")

func described(err error, what, path string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, path, err)
}
