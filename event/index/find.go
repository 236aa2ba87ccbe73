package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/usher-mcp/usher/event"
)

// Summary is what Find says of a query as a whole.
type Summary struct {
	Found int
	More  bool // older ones match too, but for Query.Limit
	Total int  // how many match without Query.Limit; -1 if nobody has counted
}

// search is one query on its way.
type search struct {
	*base
	q     Query
	text  *needle
	files map[int64]string
	lines windows
	each  func(Found) error
	last  []Found // of a limited search, the newest first
	sum   Summary
}

// find calls each for what q chooses, in order, and returns how far the index had read each file.
func (b *base) find(ctx context.Context, dir string, q Query, each func(Found) error) (sum Summary, at places, err error) {
	s := search{base: b, q: q, text: newNeedle(q.Text), files: make(map[int64]string), each: each, sum: Summary{Total: -1}}
	s.lines = windows{dir: dir, backward: q.Limit > 0}
	defer s.lines.close()
	err = b.within(ctx, "DEFERRED", func() error {
		known, err := b.states(ctx, "")
		if err != nil {
			return err
		}
		at = make(places)
		total := 0
		for name, r := range known {
			at[name] = r.taken
			s.files[r.id] = name
			total += r.taken.Line
		}
		bad, err := s.bad(ctx)
		if err != nil {
			return err
		}
		if q.All() {
			s.sum.Total = total - len(bad)
		}
		if err := s.run(ctx); err != nil {
			return err
		}
		for _, text := range bad {
			if err := s.each(Found{Err: errors.New(text)}); err != nil {
				return stop{err}
			}
		}
		return nil
	})
	return s.sum, at, err
}

// bad are the lines that are no events.
func (s *search) bad(ctx context.Context) (texts []string, err error) {
	rows, err := s.conn.QueryContext(ctx, "SELECT text FROM bad JOIN file ON file.id = bad.file ORDER BY name, line")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, rows.Err()
}

func (s *search) run(ctx context.Context) error {
	p, err := s.plan(ctx, s.q)
	if err != nil || p.none {
		return err
	}
	order := "at, file, start"
	if s.q.Limit > 0 {
		order = "at DESC, file DESC, start DESC"
	}
	where := ""
	if len(p.where) > 0 {
		where = "WHERE " + strings.Join(p.where, " AND ")
	}
	rows, err := s.conn.QueryContext(ctx, fmt.Sprintf("SELECT file, start, size, at + off FROM event %s ORDER BY %s", where, order))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() && !s.sum.More {
		if err := s.row(rows); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, f := range slices.Backward(s.last) {
		if err := s.each(f); err != nil {
			return stop{err}
		}
	}
	return nil
}

func (s *search) row(rows *sql.Rows) error {
	var file, start, at int64
	var size int
	if err := rows.Scan(&file, &start, &size, &at); err != nil {
		return err
	}
	b, err := s.lines.line(s.files[file], start, size)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	if !s.text.near(b) {
		return nil
	}
	e, err := event.ParseLine(b)
	if err != nil || e.Time.UnixMicro() != at {
		return fmt.Errorf("%w: %s has another event at %d", errDamaged, s.files[file], start)
	}
	if s.q.Call != "" && aboutOf(e).call != s.q.Call || s.q.Text != "" && !s.text.in(e) {
		return nil
	}
	if s.q.Limit > 0 && s.sum.Found == s.q.Limit {
		s.sum.More = true
		return nil
	}
	s.sum.Found++
	if s.q.Limit == 0 {
		if err := s.each(Found{Line: b, Event: e}); err != nil {
			return stop{err}
		}
		return nil
	}
	b = slices.Clone(b)
	e, err = event.ParseLine(b)
	s.last = append(s.last, Found{Line: b, Event: e})
	return err
}

// stop is an error of who takes what is found.
type stop struct{ error }

func (s stop) Unwrap() error { return s.error }

func ceilMicro(t time.Time) int64 {
	n := t.UnixMicro()
	if t.Nanosecond()%1000 != 0 {
		n++
	}
	return n
}
