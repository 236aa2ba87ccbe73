package gateway

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// D2: each call has its time from its own beginning, whatever becomes of those before it.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deadlines{after: time.Minute}
		defer d.close()
		first := d.begin(t.Context())
		time.Sleep(20 * time.Second)
		second, third := d.begin(t.Context()), d.begin(t.Context())
		child, cancel := context.WithCancel(second)
		defer cancel()
		d.end(first)
		d.end(first) // once more does nothing
		if first.Err() != context.Canceled {
			t.Errorf("ended: %v", first.Err())
		}
		time.Sleep(40*time.Second + time.Millisecond) // when the first one's time would have been over
		synctest.Wait()
		if second.Err() != nil || third.Err() != nil {
			t.Errorf("too early: %v, %v", second.Err(), third.Err())
		}
		third.stop()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if second.Err() != context.DeadlineExceeded || third.Err() != context.Canceled || child.Err() == nil {
			t.Errorf("second %v, third %v, child %v", second.Err(), third.Err(), child.Err())
		}
		at, ok := second.Deadline()
		if d.first != nil && d.first != third || !ok || !at.Equal(third.at) {
			t.Error("not taken out of the list")
		}
		d.end(second)
		d.end(third)
		parent, over := context.WithCancel(t.Context())
		fourth := d.begin(parent)
		over()
		if synctest.Wait(); fourth.Err() != context.Canceled {
			t.Errorf("the parent's end: %v", fourth.Err())
		}
		d.end(fourth)
		if d.first != nil || d.last != nil {
			t.Error("something is left")
		}
	})
}
