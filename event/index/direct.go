package index

import (
	"context"
	"errors"
	"slices"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/journal"
)

// read finds without an index.
func (l *Log) read(ctx context.Context, q Query, each func(Found) error) (sum Summary, err error) {
	files, err := journal.Files(l.dir)
	if err != nil {
		return sum, err
	}
	l.at, l.memory = make(places), newMemory()
	if q.Server != "" {
		if err := l.memory.allServers(ctx, l.dir, files); err != nil {
			return sum, err
		}
	}
	f := q.filter(l.memory)
	last := make([]Found, 0, min(q.Limit, 1024))
	sum.Total = 0
	for line, err := range merged(l.dir, files, l.at) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return sum, err
		}
		found, ok := f.found(line)
		switch {
		case !ok:
			continue
		case found.Err != nil:
			err = each(found)
		case q.Limit == 0:
			sum.Total++
			err = each(found)
		default:
			sum.Total++
			if found, err = kept(found); len(last) < q.Limit {
				last = append(last, found)
			} else {
				last[(sum.Total-1)%q.Limit] = found
			}
		}
		if err != nil {
			return sum, err
		}
	}
	sum.Found, sum.More = sum.Total, false
	if q.Limit > 0 {
		sum.Found, sum.More = len(last), sum.Total > q.Limit
	}
	start := 0
	if sum.More {
		start = sum.Total % q.Limit
	}
	for _, found := range slices.Concat(last[start:], last[:start]) {
		if err := each(found); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// found is what the filter makes of a line.
func (f *filter) found(l journal.Line) (Found, bool) {
	if l.Err != nil {
		return Found{Err: l.Err}, true
	}
	return Found{Line: l.Bytes, Event: l.Event}, f.wants(l.Event)
}

// kept is a copy that stays valid.
func kept(f Found) (Found, error) {
	f.Line = slices.Clone(f.Line)
	var err error
	f.Event, err = event.ParseLine(f.Line)
	return f, err
}

// allServers learns which servers the log names, before it is asked whose a tool is.
func (m *memory) allServers(ctx context.Context, dir string, files []journal.File) error {
	for _, f := range files {
		for l, err := range journal.Lines(dir, f, journal.Place{}) {
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			m.named(aboutOf(l.Event).server)
		}
	}
	return nil
}
