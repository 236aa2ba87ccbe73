package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/internal/admin"
	"github.com/usher-mcp/usher/permission"
)

// watchGap is how often is looked for questions, and whether the one that is shown still waits.
const watchGap = 500 * time.Millisecond

func (a *app) watchApprovals() *cobra.Command {
	return &cobra.Command{
		Use: "watch", Short: "Answer questions in this terminal as they come", Args: noArgs,
		Long: `Ask each question in this terminal as it comes, until Ctrl-C or Ctrl-D. What was typed before
a question was there isn't taken for its answer.`,
		RunE: a.run(func(ctx context.Context, _ []string) error { return a.watchQuestions(ctx) }),
	}
}

func (a *app) watchQuestions(ctx context.Context) error {
	if !a.err.tty || !isTerminal(a.in) {
		return usage("usher approvals watch asks in a terminal, and this is none", "Elsewhere use: "+self+" approvals --json, and approvals allow ID")
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	if err := a.mayDecide(ctx); err != nil {
		return err
	}
	w := &approvalWatch{app: a, typist: newTypist(a.in, reaction), put: map[string]bool{}}
	defer w.close()
	fmt.Fprintln(a.err, a.err.paint(dim, "questions are asked here as they come; Ctrl-C ends"))
	return w.run(ctx)
}

// approvalWatch asks question after question.
type approvalWatch struct {
	*app
	typist *typist
	from   questions       // nil: to be opened
	put    map[string]bool // off, by a person
}

func (w *approvalWatch) close() {
	if w.from != nil {
		w.from.close()
		w.from = nil
	}
}

// run looks at the running usher or the file anew each time one of them is gone.
func (w *approvalWatch) run(ctx context.Context) error {
	tick := time.NewTicker(watchGap)
	defer tick.Stop()
	for {
		all, err := w.list(ctx)
		for _, one := range all {
			if w.put[one.ID] {
				continue
			}
			if err = w.ask(ctx, one); err != nil {
				break
			}
		}
		switch {
		case ctx.Err() != nil, errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-w.typist.over: // nobody can answer any more
			return nil
		case <-tick.C:
		}
	}
}

// list opens what it reads from where that isn't open. A file that came into being, or an usher that was started, is
// found so as well.
func (w *approvalWatch) list(ctx context.Context) ([]admin.Approval, error) {
	if _, none := w.from.(noQuestions); none {
		w.from = nil
	}
	if w.from == nil {
		q, err := w.questions(ctx)
		if err != nil {
			return nil, err
		}
		w.from = q
	}
	all, err := w.from.list(ctx)
	if errors.Is(err, admin.ErrNoDaemon) {
		w.close()
		return nil, nil
	}
	if err != nil {
		return nil, apiFailure(err)
	}
	return all, nil
}

// ask shows one question, until it is answered here or elsewhere.
func (w *approvalWatch) ask(ctx context.Context, one admin.Approval) error {
	one, err := w.from.show(ctx, one.ID)
	if err != nil || one.State != "waiting" {
		return nil // it has just ended
	}
	asker := &terminalAsker{
		to: w.err, progress: &progress{to: w.err}, watch: true, typist: w.typist, more: w.earlier(ctx, one).text(w.err, one.Args),
	}
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := make(chan struct{})
	go func() { defer close(over); w.until(asking, one.ID, cancel) }()
	answer, err := asker.Ask(asking, one.Question())
	cancel(nil)
	<-over
	gone, isGone := errors.AsType[*endedElsewhere](err)
	switch {
	case isGone:
		fmt.Fprintf(w.err, "\n%s\n", w.err.paint(dim, outcome(gone.Approval)))
		return nil
	case errors.Is(err, errLater):
		w.put[one.ID] = true
		fmt.Fprintln(w.err, w.err.paint(dim, "put off; see: "+line(w.command())+" approvals"))
		return nil
	case err != nil:
		fmt.Fprintln(w.err) // what comes next isn't an answer
		return err
	}
	return w.answer(ctx, one, answer)
}

func (w *approvalWatch) answer(ctx context.Context, one admin.Approval, answer permission.Answer) error {
	err := w.from.decide(ctx, one.ID, answer.Allow, answer.Scope)
	if errors.Is(err, admin.ErrNoDaemon) { // it has ended meanwhile; the question is in the file, and comes again
		w.close()
		return nil
	}
	if err != nil {
		w.put[one.ID] = true
		f := explain(notDecided(err))
		(&progress{to: w.err}).note(f.text)
		return nil
	}
	fmt.Fprintln(w.err, w.decidedText(w.err, one, answer.Allow, answer.Scope))
	return nil
}

// endedElsewhere is a question that has ended while it was shown.
type endedElsewhere struct{ admin.Approval }

func (*endedElsewhere) Error() string { return "it has ended" }

// until ends the asking when the question has ended.
func (w *approvalWatch) until(ctx context.Context, id string, end context.CancelCauseFunc) {
	tick := time.NewTicker(watchGap)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		all, err := w.from.list(ctx)
		if err != nil || waits(all, id) {
			continue
		}
		if one, err := w.from.show(ctx, id); err == nil && one.State != "waiting" {
			end(&endedElsewhere{one})
			return
		}
	}
}

func waits(all []admin.Approval, id string) bool {
	for _, one := range all {
		if one.ID == id {
			return true
		}
	}
	return false
}
