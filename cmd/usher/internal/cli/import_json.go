package cli

import (
	"encoding/json"

	"github.com/usher-mcp/usher/config/foreign"
)

// imported is what usher import did, for programs. It holds no secret.
type imported struct {
	File    string           `json:"file"`
	Changes bool             `json:"changes"` // there is something to write
	Written bool             `json:"written"`
	Found   []importedFile   `json:"found"`
	Servers []importedServer `json:"servers"`
	Rules   []importedRule   `json:"rules"`
	Notes   []foreign.Note   `json:"notes"`
	Secrets []importedSecret `json:"secrets"`
}

type importedFile struct {
	Product string `json:"product"`
	File    string `json:"file"`
	Project string `json:"project,omitempty"`
	Servers int    `json:"servers"`
	Rules   int    `json:"rules"`
	Error   string `json:"error,omitempty"`
}

type importedServer struct {
	Name  string          `json:"name"`
	From  string          `json:"from"`
	File  string          `json:"file"`
	Line  int             `json:"line"`
	State foreign.State   `json:"state"`
	With  string          `json:"with,omitempty"`
	Why   string          `json:"why,omitempty"`
	Entry json.RawMessage `json:"entry"`
}

type importedRule struct {
	List  string        `json:"list"`
	Rule  string        `json:"rule"`
	When  string        `json:"when,omitempty"`
	File  string        `json:"file"`
	Line  int           `json:"line"`
	State foreign.State `json:"state"`
	Why   string        `json:"why,omitempty"`
}

type importedSecret struct {
	Name string `json:"name"`
	foreign.Where
	Hint  string `json:"hint,omitempty"`
	Kept  bool   `json:"kept"` // it is in the keyring now
	Error string `json:"error,omitempty"`
}

func (a *app) tellImportJSON(in foreign.Input, p *foreign.Plan, kept map[string]error, wrote bool) error {
	out := imported{
		File: a.importedPath(), Changes: p.Changes(), Written: wrote,
		Found: []importedFile{}, Servers: []importedServer{}, Rules: []importedRule{}, Notes: p.Notes, Secrets: []importedSecret{},
	}
	if out.Notes == nil {
		out.Notes = []foreign.Note{}
	}
	for _, r := range in.Readings {
		f := importedFile{r.Place.Product, r.Place.Path, r.Place.Project, len(r.Entries), len(r.Rules), ""}
		if r.Err != nil {
			f.Error = r.Err.Error()
		}
		out.Found = append(out.Found, f)
	}
	for _, s := range p.Servers {
		out.Servers = append(out.Servers, importedServer{s.Entry.Name, s.From, s.Where.File, s.Where.Line, s.State, s.With, s.Why, s.JSON()})
	}
	for _, r := range p.Rules {
		out.Rules = append(out.Rules, importedRule{r.List, r.Text, r.When, r.Where.File, r.Where.Line, r.State, r.Why})
	}
	for _, s := range p.Secrets {
		one := importedSecret{Name: s.Name, Where: s.Where, Hint: s.Hint}
		err, tried := kept[s.Name]
		if one.Kept = tried && err == nil; err != nil {
			one.Error = err.Error()
		}
		out.Secrets = append(out.Secrets, one)
	}
	return writeJSON(a.out, out)
}
