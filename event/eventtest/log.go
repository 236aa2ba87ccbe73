// Package eventtest has a log in memory for tests. It chains nothing and forgets everything; event/journal is the real one.
package eventtest

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/usher-mcp/usher/event"
)

// Log keeps events in memory. The zero value is ready; it is safe for concurrent use.
type Log struct {
	mu       sync.Mutex
	events   []event.Event
	seq      map[string]int64
	appendIs error
	waitIs   error
}

var _ event.Log = (*Log)(nil)

// Fail makes Append and Wait fail from now on; nil makes them work again.
func (l *Log) Fail(appending, waiting error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.appendIs, l.waitIs = appending, waiting
}

// Append keeps data, encoded as the real log would.
func (l *Log) Append(_ context.Context, session string, data ...event.Data) (event.Mark, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.appendIs != nil {
		return 0, l.appendIs
	}
	if l.seq == nil {
		l.seq = map[string]int64{}
	}
	for _, d := range data {
		var b bytes.Buffer
		if err := event.Encode(&b, d); err != nil {
			return 0, err
		}
		l.seq[session]++
		l.events = append(l.events, event.Event{Session: session, Seq: l.seq[session], Type: d.Type(), Data: json.RawMessage(b.Bytes())})
	}
	return event.Mark(len(l.events)), nil
}

// Wait returns at once.
func (l *Log) Wait(context.Context, event.Mark) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waitIs
}

// Events returns the events of one session so far.
func (l *Log) Events(session string) []event.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []event.Event
	for _, e := range l.events {
		if e.Session == session {
			found = append(found, e)
		}
	}
	return found
}

// Types returns the types of one session's events so far.
func (l *Log) Types(session string) []string {
	var types []string
	for _, e := range l.Events(session) {
		types = append(types, e.Type)
	}
	return types
}
