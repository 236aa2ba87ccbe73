package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/admin"
	"github.com/usher-mcp/usher/internal/approval"
	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/standard"
)

// questions are what waits for a person's word: of the running usher, or in the file that all ushers of the data folder
// share.
type questions interface {
	list(ctx context.Context) ([]admin.Approval, error)
	show(ctx context.Context, id string) (admin.Approval, error)
	decide(ctx context.Context, id string, allow bool, scope permission.Scope) error
	close()
}

// questions asks the running usher, or opens the file where none runs.
func (a *app) questions(ctx context.Context) (questions, error) {
	client, err := admin.Dial(ctx, a.data())
	switch {
	case err == nil:
		return fromDaemon{client}, nil
	case !errors.Is(err, admin.ErrNoDaemon):
		return nil, apiFailure(err)
	}
	l, err := a.ledger(ctx)
	if err != nil || l == nil {
		return noQuestions{}, err
	}
	return &fromLedger{a, l, approval.New(approval.Options{Store: l.Approvals(), Elsewhere: true})}, nil
}

// ledger opens the file; nil where there is none yet, which this doesn't make.
func (a *app) ledger(ctx context.Context) (*sqlite.Ledger, error) {
	return a.ledgerOf(ctx, a.data())
}

func (a *app) ledgerOf(ctx context.Context, dataDir string) (*sqlite.Ledger, error) {
	path := standard.LedgerPath(dataDir)
	if !exists(path) {
		return nil, nil
	}
	l, err := sqlite.OpenLedger(ctx, path, sqlite.Options{Notice: func(text string) { (&progress{to: a.err}).note(text) }})
	if err != nil {
		return nil, &failure{fault.ExitLog, "the file of open questions can't be read: " + err.Error(), "Name another data folder with --data"}
	}
	return l, nil
}

type fromDaemon struct{ *admin.Client }

var _ questions = fromDaemon{}

func (d fromDaemon) list(ctx context.Context) ([]admin.Approval, error) { return d.Approvals(ctx) }
func (d fromDaemon) show(ctx context.Context, id string) (admin.Approval, error) {
	return d.Approval(ctx, id)
}
func (d fromDaemon) decide(ctx context.Context, id string, allow bool, scope permission.Scope) error {
	return d.Decide(ctx, id, allow, scope)
}
func (d fromDaemon) close() { d.Close() }

type fromLedger struct {
	app    *app
	ledger *sqlite.Ledger
	queue  *approval.Queue
}

var _ questions = (*fromLedger)(nil)

func (l *fromLedger) list(ctx context.Context) (all []admin.Approval, err error) {
	records, err := l.queue.List(ctx)
	for _, r := range records {
		all = append(all, admin.ApprovalOf(r))
	}
	return all, err
}

func (l *fromLedger) show(ctx context.Context, id string) (admin.Approval, error) {
	return admin.ShowApproval(ctx, l.queue, id)
}

// decide asks of this process what the running usher would ask of it.
func (l *fromLedger) decide(ctx context.Context, id string, allow bool, scope permission.Scope) error {
	if err := l.app.mayDecide(ctx); err != nil {
		return err
	}
	return admin.Decide(ctx, l.queue, id, allow, scope)
}

func (l *fromLedger) close() {
	_ = l.queue.Close()
	_ = l.ledger.Close()
}

// noQuestions is where nothing has ever been asked.
type noQuestions struct{}

var _ questions = noQuestions{}

func (noQuestions) list(context.Context) ([]admin.Approval, error) { return nil, nil }
func (noQuestions) show(_ context.Context, id string) (admin.Approval, error) {
	return admin.Approval{}, unknownQuestion(id)
}
func (noQuestions) decide(_ context.Context, id string, _ bool, _ permission.Scope) error {
	return unknownQuestion(id)
}
func (noQuestions) close() {}

func unknownQuestion(id string) error {
	return usage(fmt.Sprintf("there is no question %q", line(cut(id, 40))), "To see those that wait, run: "+self+" approvals")
}

// leastPrefix is how many letters of an id tell enough: with fewer, a question that has come meanwhile could be meant.
const leastPrefix = 4

const idPrefix = "q_"

// find is the question that an id, or the beginning of one, means.
func (a *app) find(ctx context.Context, q questions, typed string) (admin.Approval, error) {
	all, err := q.list(ctx)
	if err != nil {
		return admin.Approval{}, apiFailure(err)
	}
	wanted := normalID(typed)
	var found []string
	for _, one := range all {
		if one.ID == typed {
			found = []string{one.ID}
			break
		}
		if strings.HasPrefix(normalID(one.ID), wanted) && len(wanted) >= leastPrefix {
			found = append(found, one.ID)
		}
	}
	switch {
	case len(found) > 1:
		return admin.Approval{}, usage(fmt.Sprintf("%q could mean several questions", line(typed)), "There are: "+strings.Join(found, ", "))
	case len(found) == 0 && len(wanted) < leastPrefix:
		return admin.Approval{}, usage(fmt.Sprintf("%q is too little to tell a question by", line(typed)), fmt.Sprintf("Type %d letters of its id, or more; to see those that wait, run: %s approvals", leastPrefix, self))
	case len(found) == 0:
		found = []string{typed} // it may have ended
	}
	one, err := q.show(ctx, found[0])
	if fault.KindOf(err) == fault.NotFound {
		return one, unknownQuestion(typed)
	}
	return one, apiFailure(err)
}

func normalID(id string) string {
	id = strings.ToUpper(id)
	return strings.TrimPrefix(id, strings.ToUpper(idPrefix))
}

// shownID is how much of an id is shown at least where all of it is of no use.
const shownID = 6

// shortest is the beginning of an id that tells it from those of the others.
func shortest(all []admin.Approval, id string) string {
	for n := len(idPrefix) + shownID; n < len(id); n++ {
		if !slices.ContainsFunc(all, func(o admin.Approval) bool { return o.ID != id && strings.HasPrefix(o.ID, id[:n]) }) {
			return id[:n]
		}
	}
	return id
}
