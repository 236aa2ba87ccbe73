package cli

import (
	"context"
	"strings"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/standard"
)

// fate is what was last seen and said of a server.
type fate struct {
	said     string // of its failure; empty: nothing, or that is over
	up       bool   // as far as it matters: one that starts is what it was before
	since    time.Time
	restarts int
}

// servers tells what becomes of each after the start screen, until ctx ends. shown is what that screen told. Nobody waits
// for these lines, so the host is asked now and then.
func (w *watcher) servers(ctx context.Context, h *standard.Host, shown []usher.ServerStatus) {
	_, fates := w.news(h.Config(), nil, shown)
	tick := time.NewTicker(linesPeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var news []string
		news, fates = w.news(h.Config(), fates, h.Servers())
		for _, text := range news {
			w.say(text)
		}
	}
}

// news is what there is to tell of the servers since the last look, first of those that were given up: there may be more
// than is shown. One that isn't configured any more is forgotten.
func (w *watcher) news(c *config.Config, before map[string]fate, now []usher.ServerStatus) (texts []string, after map[string]fate) {
	after = make(map[string]fate, len(now))
	var first []string
	for _, s := range now {
		f := before[s.Name]
		text := ""
		switch {
		case s.Fails():
			if text = w.failed(entryOf(c, s.Name), s); text == f.said {
				text = ""
			} else {
				f.said = text
			}
			f.up = false
		case s.State == "up":
			text = f.cameUp(s)
			f = fate{up: true, since: s.Since, restarts: s.Restarts}
		}
		after[s.Name] = f
		switch {
		case text == "":
		case s.State == "failed":
			first = append(first, text)
		default:
			texts = append(texts, text)
		}
	}
	return append(first, texts...), after
}

// cameUp is what to tell of a server that is up, if that is news. A process may die and be there again between two looks;
// a connection that is back so soon is worth no line.
func (f fate) cameUp(s usher.ServerStatus) string {
	switch {
	case f.up && s.Since.Equal(f.since):
		return ""
	case f.up && s.Restarts > f.restarts && s.Kind != config.TransportStdio:
		return ""
	case f.up && s.Restarts > f.restarts:
		return s.Name + ": it ended and was started again; " + plural(s.Tools, "tool")
	}
	return s.Name + ": " + plural(s.Tools, "tool")
}

// failed says why a server isn't up and what comes next. What usher does by itself needs no command.
func (w *watcher) failed(c config.Server, s usher.ServerStatus) string {
	again := s.State == "restarting" || s.State == "reconnecting"
	err := s.Err
	if again && err != nil {
		f := *fault.Of(err)
		f.Hint = "" // when to call again: nobody here calls
		err = &f
	}
	reason := cut(strings.TrimSuffix(inWords(c, err, line(why(err))), "."), maxReason)
	switch {
	case again && strings.HasPrefix(reason, "it is being "):
		return s.Name + ": " + reason
	case again:
		return s.Name + ": " + reason + "; trying again"
	case s.State == "unavailable":
		return s.Name + ": " + reason + "; the next call tries again; " + w.command + " doctor " + shellWord(s.Name)
	case s.State == "failed" && strings.HasPrefix(reason, "it was given up"):
		return s.Name + ": " + reason + "; " + w.command + " servers restart " + shellWord(s.Name)
	case s.State == "failed":
		return s.Name + ": given up: " + reason + "; " + w.command + " servers restart " + shellWord(s.Name)
	}
	return s.Name + ": " + reason + "; " + w.command + " doctor " + shellWord(s.Name)
}
