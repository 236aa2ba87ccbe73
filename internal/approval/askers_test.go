package approval_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/internal/approval"
	"github.com/usher-mcp/usher/permission"
)

// F5: of many that are asked, the first answer wins, from wherever it comes, and ends the others.
func TestFirstAnswerWins(t *testing.T) {
	for _, from := range []string{"terminal", "callback", "api", "process"} {
		t.Run(from, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				store := new(approval.Memory)
				q, other := queue(store, "p1"), queue(store, "p2")
				terminal, callback := newPerson("terminal"), newPerson("callback")
				begun := time.Now()
				got := asks(t.Context(), q, question(), terminal, callback)
				id := (<-terminal.asked).ID
				<-callback.asked
				losers := map[string]*person{"terminal": terminal, "callback": callback}
				switch from {
				case "terminal":
					terminal.says <- permission.Answer{Allow: true}
				case "callback":
					callback.says <- permission.Answer{Allow: true}
				case "api":
					answer(t, q, id, true)
				case "process":
					answer(t, other, id, true)
				}
				delete(losers, from)
				r := <-got
				if r.err != nil || !r.Allow {
					t.Fatalf("%+v", r)
				}
				if want, ok := map[string]string{"api": "cli", "process": "cli"}[from]; r.Via != want && (ok || r.Via != from) {
					t.Errorf("via %s", r.Via)
				}
				if took := time.Since(begun); took > 250*time.Millisecond {
					t.Errorf("seen after %v", took)
				}
				for name, p := range losers {
					if why := <-p.ended; !errors.Is(why, approval.ErrElsewhere) {
						t.Errorf("%s ended with %v", name, why)
					}
				}
				if err := other.Answer(t.Context(), id, permission.Answer{}); !errors.Is(err, approval.ErrAnswered) {
					t.Errorf("a second answer: %v", err)
				}
				opens(t, q, question()) // it was used
			})
		})
	}
}

// A no that comes first is the answer, though another would say yes a moment later.
func TestNoWins(t *testing.T) {
	bubble(t, func(t *testing.T) {
		q := queue(nil, "p")
		a, b := newPerson("a"), newPerson("b")
		got := asks(t.Context(), q, question(), a, b)
		<-a.asked
		<-b.asked
		a.says <- permission.Answer{}
		if r := <-got; r.err != nil || r.Allow || r.Via != "a" {
			t.Errorf("%+v", r)
		}
		<-b.ended
	})
}

// An Asker that can't ask is no answer: others still can.
func TestOneCannot(t *testing.T) {
	broken := permission.AskerFunc(func(context.Context, permission.Question) (permission.Answer, error) {
		return permission.Answer{Allow: true}, errors.New("no window")
	})
	nobody := permission.AskerFunc(func(context.Context, permission.Question) (permission.Answer, error) {
		return permission.Answer{Allow: true}, permission.ErrNobody
	})
	bubble(t, func(t *testing.T) {
		q := queue(nil, "p")
		p := newPerson("terminal")
		got := asks(t.Context(), q, question(), nobody, p, broken)
		<-p.asked
		p.says <- permission.Answer{Allow: true}
		if r := <-got; r.err != nil || !r.Allow || r.Via != "terminal" {
			t.Errorf("%+v", r)
		}
		got = asks(t.Context(), q, question(), nobody, broken)
		synctest.Wait()
		answer(t, q, waiting(t, q, 1)[0].ID, true)
		if r := <-got; r.err != nil || !r.Allow || r.Via != "cli" {
			t.Errorf("%+v", r)
		}
	})
	q := approval.New(approval.Options{Wait: wait})
	if a, err := q.Ask(t.Context(), question(), []permission.Asker{nobody}); !errors.Is(err, permission.ErrNobody) || a.Allow {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err := q.Ask(t.Context(), question(), []permission.Asker{nobody, broken}); err == nil || errors.Is(err, permission.ErrNobody) || a.Allow {
		t.Errorf("%+v, %v", a, err)
	}
	waiting(t, q, 0)
}

// An Asker that doesn't heed its context holds nothing up.
func TestDeafAsker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hold := make(chan struct{})
		deaf := permission.AskerFunc(func(context.Context, permission.Question) (permission.Answer, error) {
			<-hold
			return permission.Answer{Allow: true}, nil
		})
		q := queue(nil, "p")
		a, err := q.Ask(t.Context(), question(), []permission.Asker{deaf})
		if _, ok := errors.AsType[*approval.Open](err); !ok || a.Allow {
			t.Errorf("%+v, %v", a, err)
		}
		close(hold)
		synctest.Wait()
		opens(t, q, question())
	})
}

// The same question isn't asked twice at once; when the call that asks ends, the next one asks.
func TestAskedOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		q := queue(nil, "p")
		p := newPerson("terminal")
		ctx, cancel := context.WithCancel(t.Context())
		first := asks(ctx, q, question(), p)
		id := (<-p.asked).ID
		second := asks(t.Context(), q, question(), p)
		time.Sleep(5 * time.Second)
		if len(p.asked) != 0 {
			t.Fatal("asked twice at once")
		}
		waiting(t, q, 1)
		cancel()
		if r := <-first; !errors.Is(r.err, context.Canceled) || r.Allow {
			t.Errorf("%+v", r)
		}
		if got := (<-p.asked).ID; got != id {
			t.Errorf("another question: %s", got)
		}
		p.says <- permission.Answer{Allow: true}
		if r := <-second; r.err != nil || !r.Allow {
			t.Errorf("%+v", r)
		}
	})
}

// A call that its client cancels leaves its question open where it can be answered elsewhere, and withdraws it where not.
func TestCancelled(t *testing.T) {
	for _, elsewhere := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			q := approval.New(approval.Options{Wait: wait, Keep: keep, Elsewhere: elsewhere})
			p := newPerson("terminal")
			ctx, cancel := context.WithCancel(t.Context())
			got := asks(ctx, q, question(), p)
			id := (<-p.asked).ID
			cancel()
			if r := <-got; !errors.Is(r.err, context.Canceled) || r.Allow {
				t.Errorf("%+v", r)
			}
			<-p.ended
			if elsewhere {
				answer(t, q, id, true)
				passes(t, q, question())
				return
			}
			waiting(t, q, 0)
			if err := q.Answer(t.Context(), id, permission.Answer{Allow: true}); !errors.Is(err, approval.ErrExpired) {
				t.Error(err)
			}
		})
	}
}

// Without another way to answer, a question ends with the time that its call waits.
func TestAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		q := approval.New(approval.Options{Wait: wait})
		if _, err := q.Ask(t.Context(), question(), []permission.Asker{newPerson("terminal")}); !errors.Is(err, approval.ErrExpired) {
			t.Error(err)
		}
		waiting(t, q, 0)
		q = approval.New(approval.Options{})
		if _, err := q.Ask(t.Context(), question(), []permission.Asker{newPerson("terminal")}); !errors.Is(err, permission.ErrNobody) {
			t.Error(err)
		}
		waiting(t, q, 0)
	})
}

// With no time to wait nobody is shown what would be gone at once.
func TestNoWait(t *testing.T) {
	q := approval.New(approval.Options{Elsewhere: true})
	p := newPerson("terminal")
	_, err := q.Ask(t.Context(), question(), []permission.Asker{p})
	if _, ok := errors.AsType[*approval.Open](err); !ok || len(p.asked) != 0 {
		t.Errorf("%v, asked %d times", err, len(p.asked))
	}
}

// F5: an identical call passes exactly once for each yes, however many race for it.
func TestRace(t *testing.T) {
	const n = 100
	bubble(t, func(t *testing.T) {
		store := new(approval.Memory)
		q := queue(store, "p1")
		var all []<-chan result
		for range n {
			all = append(all, asks(t.Context(), q, question()))
		}
		synctest.Wait()
		answer(t, queue(store, "p2"), waiting(t, q, 1)[0].ID, true)
		passed := 0
		for _, got := range all {
			r := <-got
			if _, open := errors.AsType[*approval.Open](r.err); r.Allow {
				passed++
			} else if !open {
				t.Errorf("%+v", r)
			}
		}
		if passed != 1 {
			t.Errorf("%d passed", passed)
		}
		waiting(t, q, 1)
	})
}

// The same with a yes that is there before they come.
func TestRaceForYes(t *testing.T) {
	q := approval.New(approval.Options{Elsewhere: true})
	answer(t, q, opens(t, q, question()), true)
	var all []<-chan result
	for range 100 {
		all = append(all, asks(t.Context(), q, question()))
	}
	passed := 0
	for _, got := range all {
		if r := <-got; r.Allow {
			passed++
		}
	}
	if passed != 1 {
		t.Errorf("%d passed", passed)
	}
}

// A yes for the session is one for all identical calls of it that wait; none of them asks again.
func TestSessionYes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		q := queue(nil, "p")
		var all []<-chan result
		for range 10 {
			all = append(all, asks(t.Context(), q, question()))
		}
		synctest.Wait()
		if err := q.Answer(t.Context(), waiting(t, q, 1)[0].ID, permission.Answer{Allow: true, Scope: permission.Session}); err != nil {
			t.Fatal(err)
		}
		for _, got := range all {
			if r := <-got; r.err != nil || !r.Allow || r.Scope != permission.Session {
				t.Errorf("%+v", r)
			}
		}
		waiting(t, q, 0)
	})
}
