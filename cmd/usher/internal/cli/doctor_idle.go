package cli

import (
	"fmt"

	"github.com/usher-mcp/usher/config"
)

// idleServer is an entry that doesn't run.
type idleServer struct {
	Name   string `json:"name"`
	Source string `json:"source"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

func idleOf(s config.Server, why string) idleServer {
	return idleServer{s.Name, s.Source, s.File, s.Line, why}
}

func (d *diagnosis) idle(c *config.Config) {
	wanted := func(s config.Server) bool { return d.only == "" || s.Name == d.only }
	for _, s := range c.Pending {
		if wanted(s) {
			d.Waiting = append(d.Waiting, idleOf(s, "this folder brings it, and you haven't trusted it"))
		}
	}
	for _, b := range c.Blocked {
		if wanted(b.Server) {
			d.Blocked = append(d.Blocked, idleOf(b.Server, b.Reason))
		}
	}
	for _, s := range c.Shadowed {
		if wanted(s.Server) {
			d.Shadowed = append(d.Shadowed, idleOf(s.Server, fmt.Sprintf("the entry in %s:%d counts", homely(s.By.File), s.By.Line)))
		}
	}
}

// showFrom says where an entry is from that isn't in the user's own file.
func (a *app) showFrom(s serverHealth) {
	if s.From != "" {
		a.detail(dim, "it is "+s.From)
	}
}

func (a *app) showIdle(d *diagnosis) {
	at := func(s idleServer) string { return fmt.Sprintf("%s:%d", homely(s.File), s.Line) }
	for i, s := range d.Waiting {
		a.mark(off, s.Name, "waits for your trust")
		a.detail(dim, "this folder's, "+at(s))
		if i == len(d.Waiting)-1 {
			a.detail(yellow, "to look at it, and trust it: "+a.command()+" trust "+shellWord(s.Name))
		}
	}
	for _, s := range d.Blocked {
		a.mark(off, s.Name, "may not run: "+s.Reason)
		a.detail(dim, s.Source+", "+at(s))
	}
	for _, s := range d.Shadowed {
		a.mark(off, s.Name, "not used: "+s.Reason)
		a.detail(dim, s.Source+", "+at(s))
	}
}
