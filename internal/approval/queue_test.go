package approval_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/internal/approval"
	"github.com/usher-mcp/usher/permission"
)

// F5: a call waits 25 s; its question stays open for 15 minutes, over a restart; then the identical call passes, once.
func TestOpenOverRestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := new(approval.Memory)
		first := queue(store, "p1")
		begun := time.Now()
		id := opens(t, first, question())
		if took := time.Since(begun); took != wait {
			t.Errorf("it waited %v", took)
		}
		// first is killed: nobody closes it.
		second := queue(store, "p2", "p1")
		if r := waiting(t, second, 1)[0]; r.ID != id || r.Args != nil || r.Expires.Sub(r.Asked) != keep {
			t.Errorf("%+v", r)
		}
		time.Sleep(14*time.Minute + 30*time.Second)
		answer(t, second, id, true)
		again := question()
		again.Session, again.ToolCallID = "s_2", "tc_2"
		passes(t, second, again)
		if next := opens(t, second, again); next == id {
			t.Error("the yes was used twice")
		}
	})
}

// F5: no answer is a no, also for the one that comes later; the call has to be made again.
func TestExpires(t *testing.T) {
	bubble(t, func(t *testing.T) {
		q := queue(nil, "p")
		id := opens(t, q, question())
		time.Sleep(keep - wait)
		if err := q.Answer(t.Context(), id, permission.Answer{Allow: true}); !errors.Is(err, approval.ErrExpired) {
			t.Errorf("a late answer: %v", err)
		}
		waiting(t, q, 0)
		if next := opens(t, q, question()); next == id {
			t.Error("the old question was asked again")
		}
		if r, err := q.Show(t.Context(), id); err != nil || r.State != approval.Expired || r.Kept || r.Args != nil {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// F5: a yes that nobody used ends with its question.
func TestUnusedYesExpires(t *testing.T) {
	bubble(t, func(t *testing.T) {
		q := queue(nil, "p")
		id := opens(t, q, question())
		answer(t, q, id, true)
		time.Sleep(keep - wait)
		opens(t, q, question())
	})
}

// A question that expires while its call waits is a no.
func TestExpiresWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		q := approval.New(approval.Options{Wait: time.Hour, Keep: time.Minute, Elsewhere: true})
		p := newPerson("terminal")
		begun := time.Now()
		a, err := q.Ask(t.Context(), question(), []permission.Asker{p})
		if took := time.Since(begun); !errors.Is(err, approval.ErrExpired) || a.Allow || took != time.Minute {
			t.Errorf("%+v, %v after %v", a, err, took)
		}
		<-p.ended
	})
}

// A clock that is set back makes no approval last longer.
func TestClockSetBack(t *testing.T) {
	var back time.Duration
	q := approval.New(approval.Options{Elsewhere: true, Clock: func() time.Time { return time.Now().Add(-back) }})
	id := opens(t, q, question())
	answer(t, q, id, true)
	back = time.Hour
	if next := opens(t, q, question()); next == id {
		t.Error("the old question lives on")
	}
	back = 0
	if a, err := q.Ask(t.Context(), question(), nil); err == nil {
		t.Errorf("a yes for what had counted as over: %+v", a)
	}
}

// F5: the question is bound to the exact call: whatever changes, it is another question (T2, CVE-2025-54136).
func TestBound(t *testing.T) {
	for name, change := range map[string]func(*permission.Question){
		"white space": func(q *permission.Question) { q.Args = []byte(`{"a": 1}`) },
		"a number":    func(q *permission.Question) { q.Args = []byte(`{"a":1.0}`) },
		"no args":     func(q *permission.Question) { q.Args = nil },
		"principal":   func(q *permission.Question) { q.Principal = "eve" },
		"client":      func(q *permission.Question) { q.Client = "other" },
		"session":     func(q *permission.Question) { q.Session = "s_other" },
		"server":      func(q *permission.Question) { q.Target.Server = "jirb" },
		"tool":        func(q *permission.Question) { q.Target.Tool = "remove" },
		"split":       func(q *permission.Question) { q.Target = permission.Target{Server: "jiraa", Tool: "dd"} },
		"entry":       func(q *permission.Question) { q.Entry = "sha256:f" },
		"definition":  func(q *permission.Question) { q.Definition = "sha256:x" },
		"package":     func(q *permission.Question) { q.Package = "npm:x@1.0.1" },
		"source":      func(q *permission.Question) { q.Source = "project" },
		"risk":        func(q *permission.Question) { q.Risk = permission.Destructive },
		"flow":        func(q *permission.Question) { q.Flow = "mail → web" },
		"policy":      func(q *permission.Question) { q.Policy = "p2" },
	} {
		t.Run(name, func(t *testing.T) {
			q := approval.New(approval.Options{Elsewhere: true})
			id := opens(t, q, question())
			answer(t, q, id, true)
			other := question()
			change(&other)
			if a, err := q.Ask(t.Context(), other, nil); err == nil {
				t.Fatalf("it passed: %+v", a)
			}
			passes(t, q, question())
		})
	}
}

// What only tells how the question came to be isn't part of it.
func TestNotBound(t *testing.T) {
	q := approval.New(approval.Options{Elsewhere: true})
	answer(t, q, opens(t, q, question()), true)
	same := question()
	same.ToolCallID, same.Reasons, same.Rule, same.Title = "tc_9", nil, nil, "Adds"
	passes(t, q, same)
}

// F5: while the session that asked is there, its answers are for no other; afterwards for the same principal and client.
func TestAnotherSession(t *testing.T) {
	q := approval.New(approval.Options{Elsewhere: true})
	id := opens(t, q, question())
	other := question()
	other.Session = "s_2"
	if its := opens(t, q, other); its == id {
		t.Fatal("two sessions share a question")
	}
	answer(t, q, id, true)
	opens(t, q, other)
	if err := q.End(t.Context(), "s_1"); err != nil {
		t.Fatal(err)
	}
	third := question()
	third.Session = "s_3"
	passes(t, q, third)
	third.Principal = "eve"
	opens(t, q, third)
}

// A question that is open when its session ends is the next session's: it isn't asked again under another id.
func TestAdopted(t *testing.T) {
	q := approval.New(approval.Options{Elsewhere: true})
	id := opens(t, q, question())
	if err := q.End(t.Context(), "s_1"); err != nil {
		t.Fatal(err)
	}
	second, third := question(), question()
	second.Session, third.Session = "s_2", "s_3"
	if got := opens(t, q, second); got != id {
		t.Errorf("asked again as %s", got)
	}
	if got := opens(t, q, third); got == id {
		t.Error("two sessions share a question")
	}
	answer(t, q, id, true)
	passes(t, q, second)
}

// A no stays a no while the question would have been open.
func TestNo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		q := queue(nil, "p")
		answer(t, q, opens(t, q, question()), false)
		for range 3 {
			if a, err := q.Ask(t.Context(), question(), nil); err != nil || a.Allow || a.Via != "cli" || a.Principal != "bob" {
				t.Errorf("%+v, %v", a, err)
			}
		}
		if err := q.End(t.Context(), "s_1"); err != nil {
			t.Fatal(err)
		}
		next := question()
		next.Session = "s_2"
		if a, err := q.Ask(t.Context(), next, nil); err != nil || a.Allow {
			t.Errorf("a later session: %+v, %v", a, err)
		}
		time.Sleep(keep)
		opens(t, q, question())
	})
}

// A no that was said where the call was made is about that session.
func TestNoOfItsOwn(t *testing.T) {
	q := approval.New(approval.Options{Elsewhere: true, Wait: time.Minute})
	no := permission.AskerFunc(func(context.Context, permission.Question) (permission.Answer, error) { return permission.Answer{}, nil })
	yes := permission.AskerFunc(func(context.Context, permission.Question) (permission.Answer, error) {
		return permission.Answer{Allow: true}, nil
	})
	for range 2 {
		if a, err := q.Ask(t.Context(), question(), []permission.Asker{no}); err != nil || a.Allow {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	if a, err := q.Ask(t.Context(), question(), []permission.Asker{yes}); err != nil || a.Allow {
		t.Errorf("the same session was asked again: %+v, %v", a, err)
	}
	if err := q.End(t.Context(), "s_1"); err != nil {
		t.Fatal(err)
	}
	next := question()
	next.Session = "s_2"
	if a, err := q.Ask(t.Context(), next, []permission.Asker{yes}); err != nil || !a.Allow {
		t.Errorf("the next session wasn't asked: %+v, %v", a, err)
	}
}

// An answer for a question that has ended says how it ended.
func TestAnswerTooLate(t *testing.T) {
	q := approval.New(approval.Options{Elsewhere: true})
	yes := permission.Answer{Allow: true}
	if err := q.Answer(t.Context(), "q_none", yes); !errors.Is(err, approval.ErrUnknown) {
		t.Error(err)
	}
	id := opens(t, q, question())
	answer(t, q, id, true)
	says := func(how string) {
		t.Helper()
		if err := q.Answer(t.Context(), id, permission.Answer{}); !errors.Is(err, approval.ErrAnswered) || !strings.Contains(err.Error(), how) {
			t.Error(err)
		}
	}
	says("yes, at ")
	passes(t, q, question())
	says("yes, at ")
	id = opens(t, q, question())
	answer(t, q, id, false)
	says("no, at ")
}

// F5: what may destroy, or asks only since it carries data out, is allowed for one call only, whatever the person says.
func TestOnceOnly(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*permission.Question)
		want   permission.Scope
	}{
		"plain":       {func(*permission.Question) {}, permission.Always},
		"destructive": {func(q *permission.Question) { q.Risk = permission.Destructive }, permission.Once},
		"unknown":     {func(q *permission.Question) { q.Risk = 0 }, permission.Once},
		"flow alone":  {func(q *permission.Question) { q.Flow, q.FlowOnly = "a → b", true }, permission.Once},
		"flow, too":   {func(q *permission.Question) { q.Flow = "a → b" }, permission.Always},
	} {
		t.Run(name, func(t *testing.T) {
			asked := question()
			c.change(&asked)
			always := permission.Answer{Allow: true, Scope: permission.Always}
			q := approval.New(approval.Options{Elsewhere: true, Wait: time.Minute})
			person := permission.AskerFunc(func(context.Context, permission.Question) (permission.Answer, error) { return always, nil })
			if a, err := q.Ask(t.Context(), asked, []permission.Asker{person}); err != nil || !a.Allow || a.Scope != c.want {
				t.Errorf("an asker's: %+v, %v", a, err)
			}
			q = approval.New(approval.Options{Elsewhere: true})
			if err := q.Answer(t.Context(), opens(t, q, asked), always); err != nil {
				t.Fatal(err)
			}
			if a, err := q.Ask(t.Context(), asked, nil); err != nil || !a.Allow || a.Scope != c.want {
				t.Errorf("from elsewhere: %+v, %v", a, err)
			}
		})
	}
}

// F5: a person sees all bytes, as they came.
func TestShow(t *testing.T) {
	q := approval.New(approval.Options{Elsewhere: true})
	asked := question()
	asked.Args = []byte("{\"a\" :\u202e \"" + strings.Repeat("x", 1<<20) + "\x1b[0m\"}")
	id := opens(t, q, asked)
	r, err := q.Show(t.Context(), id)
	if err != nil || string(r.Args) != string(asked.Args) || r.State != approval.Waiting || r.Bytes != int64(len(asked.Args)) || !r.Kept {
		t.Fatalf("%d bytes, %v", len(r.Args), err)
	}
	got, want := r.Question, asked
	if got.Rule == nil || got.Rule.Pattern != want.Rule.Pattern || got.Rule.File != want.Rule.File || got.Rule.Line != want.Rule.Line {
		t.Errorf("%+v", got.Rule)
	}
	if len(got.Reasons) != 1 || got.Reasons[0] != want.Reasons[0] || got.Target != want.Target || got.Risk != want.Risk || got.Principal != want.Principal ||
		got.Client != want.Client || got.Session != want.Session || got.Title != want.Title || got.ToolCallID != want.ToolCallID || got.Entry != want.Entry ||
		got.Definition != want.Definition || got.Package != want.Package || got.Source != want.Source || got.Policy != want.Policy {
		t.Errorf("%+v", got)
	}
}

// A Queue that is closed ends its calls; their questions stay open, for another session.
func TestClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := new(approval.Memory)
		q := queue(store, "p")
		p := newPerson("terminal")
		got := asks(t.Context(), q, question(), p)
		id := (<-p.asked).ID
		for range 2 {
			if err := q.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if r := <-got; r.err == nil || r.Allow {
			t.Errorf("%+v", r)
		}
		<-p.ended
		next := queue(store, "p")
		answer(t, next, id, true)
		other := question()
		other.Session = "s_2"
		passes(t, next, other)
		synctest.Wait()
		if a, err := q.Ask(t.Context(), question(), nil); err == nil {
			t.Errorf("a closed queue says %+v", a)
		}
	})
}
