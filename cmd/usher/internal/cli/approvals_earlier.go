package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/index"
	"github.com/usher-mcp/usher/internal/admin"
	"github.com/usher-mcp/usher/mcp"
)

// earlier is the last call of a tool that ran.
type earlier struct {
	Call string          `json:"toolCallId"`
	At   time.Time       `json:"at"`
	Args json.RawMessage `json:"args,omitempty"` // as the log has them: without secrets that are known

	command string
}

const (
	lookBack   = 50              // calls of the tool that are looked at
	lookTime   = 3 * time.Second // an extra isn't waited for
	maxCompare = 60              // columns of a value in a comparison; the new one is above, whole
)

// earlier looks into the log; nil where there is nothing to compare with. It is an extra, so no failure of it counts.
func (a *app) earlier(ctx context.Context, one admin.Approval) *earlier {
	c, err := a.load()
	if err != nil || !exists(a.journalDir(c)) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	log, err := index.Open(ctx, a.journalDir(c), nil)
	if err != nil {
		return nil
	}
	defer log.Close()
	last, asked := map[string]*earlier{}, index.Query{Tool: one.Tool, Until: one.Asked.Add(time.Millisecond), Limit: 4 * lookBack}
	var ran *earlier
	_, err = log.Find(ctx, asked, func(f index.Found) error {
		if f.Err != nil {
			return nil
		}
		switch f.Event.Type {
		case event.ToolCallRequested{}.Type():
			var d event.ToolCallRequested
			if json.Unmarshal(f.Event.Data, &d) == nil && d.ToolCallID != one.Call {
				last[d.ToolCallID] = &earlier{Call: d.ToolCallID, At: f.Event.Time, Args: slices.Clone(d.Args), command: a.command()}
			}
		case event.ToolStarted{}.Type():
			var d event.ToolStarted
			if json.Unmarshal(f.Event.Data, &d) == nil && last[d.ToolCallID] != nil {
				ran = last[d.ToolCallID]
			}
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return ran
}

// text says what is different this time.
func (e *earlier) text(to *terminal, now json.RawMessage) string {
	if e == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  %s the call of %s that ran, %s\n", to.paint(dim, pad("compared", 9)), stamp(e.At), "by the log:")
	changes := compare(e.Args, now)
	if len(changes) == 0 {
		fmt.Fprintln(&b, "    the same arguments")
	}
	for _, c := range changes {
		fmt.Fprintf(&b, "    %s %s\n", to.paint(c.style, c.mark), c.text)
	}
	return b.String()
}

// change is one argument that differs.
type change struct {
	mark  string
	style style
	text  string
}

// compare tells what became of each argument.
func compare(before, now json.RawMessage) (all []change) {
	was, order := members(before)
	is, names := members(now)
	if was == nil || is == nil {
		if bytes.Equal(bytes.TrimSpace(before), bytes.TrimSpace(now)) {
			return nil
		}
		return []change{{"~", yellow, short(before) + " → " + short(now)}}
	}
	for _, name := range names {
		old, there := was[name]
		switch {
		case !there:
			all = append(all, change{"+", green, line(name) + ": " + short(is[name])})
		case !bytes.Equal(old, is[name]):
			all = append(all, change{"~", yellow, line(name) + ": " + short(old) + " → " + short(is[name])})
		}
	}
	for _, name := range order {
		if _, there := is[name]; !there {
			all = append(all, change{"-", red, line(name) + ": " + short(was[name])})
		}
	}
	return all
}

// members are the values of an object without white space around and in them, by name; nil if it is none.
func members(object json.RawMessage) (values map[string][]byte, names []string) {
	if b := bytes.TrimSpace(object); len(b) == 0 || b[0] != '{' {
		return nil, nil
	}
	values = map[string][]byte{}
	for key, value := range mcp.Members(object) {
		var b bytes.Buffer
		if json.Compact(&b, value) != nil {
			b.Reset()
			b.Write(value)
		}
		name := mcp.Text(key)
		if _, twice := values[name]; !twice {
			names = append(names, name)
		}
		values[name] = b.Bytes()
	}
	return values, names
}

func short(value []byte) string { return cut(line(printableJSON(value)), maxCompare) }
