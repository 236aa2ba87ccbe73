package index

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/usher-mcp/usher/event/journal"
)

const (
	every = 100 * time.Millisecond // is how often Follow looks; a process writes what it has queued every 20 ms
	rest  = 9                      // for so many times as long as it looked: where there are many files that takes a while
)

// Follow calls each for the events that q chooses, whatever process writes them, from where the last Find has ended until
// ctx ends; that is no error. Query.Limit doesn't count. What comes from several processes between two looks is put in
// the order of time. It lets go of the index first: who follows keeps it from nobody. A folder that isn't there yet may
// come.
func (l *Log) Follow(ctx context.Context, q Query, each func(Found) error) error {
	err := l.remember(ctx)
	l.closeBase()
	if err != nil {
		return err
	}
	f := &follower{dir: l.dir, at: l.at, filter: q.filter(l.memory), each: each, done: make(map[string]bool)}
	for {
		begun := time.Now()
		if err := f.look(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		pause := time.NewTimer(max(every, rest*time.Since(begun)))
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil
		case <-pause.C:
		}
	}
}

type follower struct {
	dir    string
	at     places
	filter *filter
	each   func(Found) error
	done   map[string]bool // sealed files that were read to their end
}

func (f *follower) look(ctx context.Context) error {
	files, err := journal.Files(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(file journal.File) bool {
		return f.done[file.Name] || file.Size < f.at[file.Name].Offset || file.Size == f.at[file.Name].Offset && !file.Sealed
	})
	for line, err := range merged(f.dir, files, f.at) {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		if found, ok := f.filter.found(line); ok {
			if err := f.each(found); err != nil {
				return err
			}
		}
	}
	for _, file := range files {
		if file.Sealed {
			f.done[file.Name] = true
		}
	}
	return nil
}
