package index

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// rare is how many rows are sooner sorted than looked for in the order of time.
const rare = 20_000

// plan says which rows a query wants, and how they are found.
type plan struct {
	where []string
	none  bool // nothing can match
}

// side is one of the things that a query asks for. Plain is where without the use of an index: a + before a column keeps
// SQLite from it.
type side struct {
	where, plain string
	ordered      bool // the index has its rows in the order of time
}

func (b *base) plan(ctx context.Context, q Query) (p plan, err error) {
	var sides []side
	add := func(s side) { sides = append(sides, s) }
	word := func(kind int, name, also string, ok func(string, bool) bool) error {
		ids, err := b.matching(ctx, kind, ok)
		p.none = p.none || err == nil && len(ids) == 0
		in := name + " IN (" + list(ids) + ")"
		add(side{in + also, "+" + in, len(ids) == 1})
		return err
	}
	if err := b.bounds(ctx, q, add); err != nil {
		return p, err
	}
	if q.Session != "" {
		err = word(wordSession, "session", "", q.session)
	}
	if q.Type != "" && err == nil {
		err = word(wordType, "type", "", func(text string, _ bool) bool { return q.kind(text) })
	}
	if q.Tool != "" && err == nil {
		err = word(wordTool, "tool", " AND tool > 0", func(text string, _ bool) bool { return sameTool(q.Tool, text) })
	}
	if q.Server != "" && err == nil {
		err = b.server(ctx, q.Server, &p, add)
	}
	if q.Call != "" {
		is := fmt.Sprintf("call = %d", digest(q.Call))
		add(side{is + " AND call <> 0", "+" + is, true})
	}
	if err != nil || p.none {
		return p, err
	}
	p.where, err = b.way(ctx, sides)
	return p, err
}

// bounds are those of time: of the place in the order of time, which helps to find, and of the event's own time.
func (b *base) bounds(ctx context.Context, q Query, add func(side)) error {
	if q.Since.IsZero() && q.Until.IsZero() {
		return nil
	}
	var early, late int64
	if err := b.conn.QueryRowContext(ctx, "SELECT early, late FROM drift").Scan(&early, &late); err != nil {
		return err
	}
	var where []string
	if !q.Since.IsZero() {
		since := ceilMicro(q.Since)
		where = append(where, fmt.Sprintf("at >= %d AND at + off >= %d", since-early, since))
	}
	if !q.Until.IsZero() {
		until := ceilMicro(q.Until)
		where = append(where, fmt.Sprintf("at < %d AND at + off < %d", until+late, until))
	}
	both := strings.Join(where, " AND ")
	add(side{both, both, true})
	return nil
}

func (b *base) server(ctx context.Context, name string, p *plan, add func(side)) error {
	servers, err := b.matching(ctx, wordServer, func(text string, _ bool) bool { return text == name })
	if err != nil {
		return err
	}
	known, err := b.names(ctx, wordServer)
	if err != nil {
		return err
	}
	tools, err := b.matching(ctx, wordTool, func(text string, _ bool) bool { return ofServer(text, name, known) })
	p.none = p.none || len(servers)+len(tools) == 0
	is, in := "server IN ("+list(servers)+")", "tool IN ("+list(tools)+")"
	add(side{"(server > 0 AND " + is + " OR tool > 0 AND " + in + ")", "(+" + is + " OR +" + in + ")", false})
	return err
}

// way chooses: what is rare is found by its index and sorted; else in the order of time, by the index that has it, or
// through all.
func (b *base) way(ctx context.Context, sides []side) (where []string, err error) {
	by, least := slices.IndexFunc(sides, func(s side) bool { return s.ordered }), rare
	for i, s := range sides {
		var n int
		query := fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM event WHERE %s LIMIT %d)", s.where, rare)
		if err := b.conn.QueryRowContext(ctx, query).Scan(&n); err != nil {
			return nil, err
		}
		if n < least {
			by, least = i, n
		}
	}
	for i, s := range sides {
		if i == by {
			where = append(where, s.where)
		} else {
			where = append(where, s.plain)
		}
	}
	return where, nil
}

func list(ids []int64) string {
	var out []byte
	for i, id := range ids {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, id, 10)
	}
	return string(out)
}
