package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/index"
)

// openLog opens the log for reading; nil where there is none yet.
func (a *app) openLog(ctx context.Context, c *config.Config) (*index.Log, error) {
	dir := a.journalDir(c)
	if !exists(dir) {
		return nil, nil
	}
	log, err := (&eventShow{app: a}).openIndex(ctx, dir)
	return log, readFailure(err)
}

// sessionInLog finds out what the log tells of a session. What it took in is what its client did, which is kept elsewhere.
func (a *app) sessionInLog(ctx context.Context, c *config.Config, x explaining) (sessionLike, error) {
	none := usage(fmt.Sprintf("there is no session %q in the log", line(x.session)), "To see sessions, run: "+self+" events --type session.started")
	log, err := a.openLog(ctx, c)
	if err != nil || log == nil {
		if err == nil {
			err = none
		}
		return sessionLike{}, err
	}
	defer log.Close()
	found := map[string]*sessionLike{}
	_, err = log.Find(ctx, index.Query{Session: x.session, Type: "session.*"}, func(f index.Found) error {
		if f.Err != nil {
			return nil
		}
		s := found[f.Event.Session]
		if s == nil {
			s = &sessionLike{As: usher.As{ID: f.Event.Session}}
			s.Principal = whoami()
			found[f.Event.Session] = s
		}
		var started event.SessionStarted
		if f.Event.Type == started.Type() && json.Unmarshal(f.Event.Data, &started) == nil {
			s.Kind, s.Client = started.Kind, started.Client
		}
		s.ended = s.ended || f.Event.Type == event.SessionEnded{}.Type()
		return nil
	})
	switch {
	case err != nil:
		return sessionLike{}, readFailure(err)
	case len(found) == 0:
		return sessionLike{}, none
	case len(found) > 1:
		return sessionLike{}, usage(fmt.Sprintf("%d sessions begin with %q", len(found), line(x.session)), "Give more of its id")
	}
	for _, s := range found {
		return *s, readFailure(s.findGrant(ctx, log, x.name))
	}
	return sessionLike{}, none
}

// findGrant looks for a yes to the tool that was for the session, as long as that goes on.
func (s *sessionLike) findGrant(ctx context.Context, log *index.Log, tool string) error {
	q := index.Query{Session: s.ID, Tool: tool, Type: event.PermissionResolved{}.Type()}
	_, err := log.Find(ctx, q, func(f index.Found) error {
		var r event.PermissionResolved
		if f.Err == nil && json.Unmarshal(f.Event.Data, &r) == nil && r.Decision == "allow" && r.SourcedFrom == "session_allow_once" {
			s.granted = f.Event.Time
		}
		return nil
	})
	s.Granted = !s.granted.IsZero() && !s.ended
	return err
}
