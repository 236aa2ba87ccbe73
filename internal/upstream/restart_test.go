package upstream

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
)

// within reports whether d is v, give or take a quarter.
func within(d, v time.Duration) bool { return d >= v*3/4 && d <= v*5/4 }

var anyDelay = cmpopts.IgnoreFields(event.ServerRestarting{}, "DelayMs")

func code(n int) *int { return &n }

// C2, C4: the restart table, row by row, with the defaults. Each crash hits a call in flight, which is never sent again.
func TestRestartTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := &far{handler: slow}, new(recorder)
		o := options("stdio", f)
		o.Record = r.record
		s := New(t.Context(), o)
		defer s.Close("closed")
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, row := range []struct {
			nth   int
			kind  fault.Kind
			delay time.Duration // 0: it is given up
		}{
			{1, "mcp_server_restarted", 500 * time.Millisecond},
			{2, "mcp_server_unstable", time.Second},
			{3, "mcp_server_unstable", 2 * time.Second},
			{4, "mcp_server_unavailable", 0},
		} {
			r.take()
			call := calling(t, s, "hang")
			synctest.Wait()
			begun := time.Now()
			f.kill()
			if err := <-call; fault.KindOf(err) != row.kind || time.Since(begun) != 0 {
				t.Errorf("crash %d: the call ended with %v after %v", row.nth, err, time.Since(begun))
			}
			synctest.Wait()
			got, dials := r.take(), f.count()
			crashed := event.ServerCrashed{Server: "s", Attempt: row.nth, ExitCode: code(3), StderrTail: "its last words\n"}
			if row.delay == 0 {
				want := []event.Data{crashed, event.ServerFailed{Server: "s", Reason: "exit status 3"}}
				if diff := cmp.Diff(want, got); diff != "" || s.State() != Failed {
					t.Errorf("the last crash, state %s:\n%s", s.State(), diff)
				}
				break
			}
			want := []event.Data{crashed, event.ServerRestarting{Server: "s", Attempt: row.nth}}
			if diff := cmp.Diff(want, got, anyDelay); diff != "" || s.State() != Restarting {
				t.Errorf("crash %d, state %s:\n%s", row.nth, s.State(), diff)
			}
			failAtOnce(t, s)
			for f.count() == dials {
				time.Sleep(time.Millisecond)
			}
			if waited := time.Since(begun); !within(waited, row.delay) && !within(waited-2*time.Millisecond, row.delay) {
				t.Errorf("crash %d: started again after %v, want %v", row.nth, waited, row.delay)
			}
			synctest.Wait()
			if s.State() != Up {
				t.Fatalf("crash %d: state %s", row.nth, s.State())
			}
		}
		failAtOnce(t, s)
		time.Sleep(time.Hour)
		if n := f.count(); n != 4 || s.State() != Failed {
			t.Errorf("after an hour: %d dials, state %s", n, s.State())
		}
		if err := s.Restart(t.Context()); err != nil || s.State() != Up {
			t.Errorf("restarted by hand: %v, %s", err, s.State())
		}
	})
}

// failAtOnce: while a server is down its calls don't wait.
func failAtOnce(t *testing.T, s *Server) {
	t.Helper()
	begun := time.Now()
	if _, err := ask(t.Context(), s, "echo"); fault.KindOf(err) != fault.Unavailable || time.Since(begun) != 0 {
		t.Errorf("a call meanwhile: %v after %v", err, time.Since(begun))
	}
}

// C2: a server that stayed up for a minute starts counting anew; one that stayed up for less doesn't, whatever it
// answered (case-080).
func TestStableStartsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := &far{handler: slow}, new(recorder)
		o := options("stdio", f)
		o.Record = r.record
		s := New(t.Context(), o)
		defer s.Close("closed")
		for i, c := range []struct {
			up      time.Duration
			attempt int
		}{{59 * time.Second, 1}, {59 * time.Second, 2}, {time.Minute, 1}, {time.Second, 2}, {time.Second, 3}, {2 * time.Minute, 1}} {
			if err := s.main.await(t.Context(), Up); err != nil {
				t.Fatal(err)
			}
			if _, err := ask(t.Context(), s, "echo"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(c.up)
			r.take()
			f.kill()
			synctest.Wait()
			if got, ok := r.take()[0].(event.ServerCrashed); !ok || got.Attempt != c.attempt {
				t.Errorf("%d: %+v, want attempt %d", i, got, c.attempt)
			}
		}
	})
}

// await is for tests: it waits for a state.
func (s *supervisor) await(ctx context.Context, state State) error {
	s.Start()
	for {
		s.mu.Lock()
		now, changed := s.state, s.changed
		s.mu.Unlock()
		if now == state {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// C2: a process that never gets as far as to answer crashes, too; who waits for its first start is told at once.
func TestNeverStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := &far{handler: slow, fail: errExit}, new(recorder)
		o := options("stdio", f)
		o.Record = r.record
		s := New(t.Context(), o)
		defer s.Close("closed")
		begun := time.Now()
		if err := s.Ready(t.Context()); fault.KindOf(err) != fault.Unavailable || time.Since(begun) != 0 {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		time.Sleep(time.Minute)
		if f.count() != 4 || s.State() != Failed || r.count("mcp.server.crashed") != 4 || r.count("mcp.server.permanently_failed") != 1 {
			t.Errorf("%d starts, %s, %+v", f.count(), s.State(), r.take())
		}
	})
}

// case-013: a command that isn't there is not tried again and again.
func TestNoSuchCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{handler: slow, fail: &fs.PathError{Op: "exec", Path: "nope", Err: fs.ErrNotExist}}
		s := New(t.Context(), options("stdio", f))
		defer s.Close("closed")
		_ = s.Ready(t.Context())
		time.Sleep(time.Hour)
		if f.count() != 1 || s.State() != Failed {
			t.Errorf("%d starts, %s", f.count(), s.State())
		}
	})
}

// C7: restart: false turns restarting off; other numbers count as they are set.
func TestRestartConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{handler: slow}
		o := options("stdio", f)
		o.Lifecycle.Restart.Enabled = false
		s := New(t.Context(), o)
		defer s.Close("closed")
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.kill()
		time.Sleep(time.Hour)
		if f.count() != 1 || s.State() != Failed {
			t.Errorf("off: %d starts, %s", f.count(), s.State())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := &far{handler: slow, fail: errExit}
		o := options("stdio", f)
		o.Lifecycle.Restart.Base, o.Lifecycle.Restart.Jitter, o.Lifecycle.Restart.Steps = 3*time.Second, 0, 1
		s := New(t.Context(), o)
		defer s.Close("closed")
		begun := time.Now()
		if err := s.main.await(t.Context(), Failed); err != nil || f.count() != 2 || time.Since(begun) != 3*time.Second {
			t.Errorf("%d starts in %v, %v", f.count(), time.Since(begun), err)
		}
	})
}

// C3: a server that is ended on purpose isn't started again, whatever it was just doing.
func TestShutdownWhileRestarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := &far{handler: slow}, new(recorder)
		o := options("stdio", f)
		o.Record = r.record
		s := New(t.Context(), o)
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.kill()
		synctest.Wait()
		s.Close("disabled")
		time.Sleep(time.Hour)
		if got := r.take(); f.count() != 1 || !cmp.Equal(got[len(got)-1], event.Data(event.ServerShutdown{Server: "s", Reason: "disabled"})) {
			t.Errorf("%d starts, %+v", f.count(), got)
		}
		if _, err := ask(t.Context(), s, "echo"); fault.KindOf(err) != fault.Unavailable {
			t.Error(err)
		}
	})
}

// C4: of many calls in flight at a crash each ends once with the same reason, and one start follows.
func TestManyInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{handler: slow}
		s := New(t.Context(), options("stdio", f))
		defer s.Close("closed")
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		var calls []<-chan error
		for range 100 {
			calls = append(calls, calling(t, s, "hang"))
		}
		synctest.Wait()
		f.kill()
		for _, c := range calls {
			if err := <-c; fault.KindOf(err) != fault.Restarted {
				t.Error(err)
			}
		}
		if err := s.main.await(t.Context(), Up); err != nil || f.count() != 2 {
			t.Errorf("%d starts, %v", f.count(), err)
		}
	})
}

var errGone = errors.New("connection refused")
