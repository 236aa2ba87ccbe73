package admin

import (
	"context"
	"testing"
	"time"
)

// A change may take longer than a request may take to arrive: a package runner has two minutes for its first start. C8
func TestSlowChange(t *testing.T) {
	l := defaultLimits()
	l.header, l.body = 50*time.Millisecond, 50*time.Millisecond
	cut := make(chan error, 1)
	d := &desk{config: parsed(t, `{}`), wait: func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-time.After(6 * l.body):
		}
		cut <- ctx.Err()
	}}
	if err := open(t, Options{Host: d, limits: l}).Restart(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if err := <-cut; err != nil {
		t.Error("the change was broken off:", err)
	}
}
