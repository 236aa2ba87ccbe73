package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/usher-mcp/usher/internal/approval"
)

// Approvals returns the store for questions. It ends with the Ledger.
func (l *Ledger) Approvals() approval.Store { return approvals{l} }

type approvals struct{ l *Ledger }

var _ approval.Store = approvals{}

// Read is as approval.Store says.
func (a approvals) Read(ctx context.Context, f func(approval.Tx) error) error {
	return a.l.read(ctx, caught(ctx, f))
}

// Write is as approval.Store says.
func (a approvals) Write(ctx context.Context, f func(approval.Tx) error) error {
	return a.l.write(ctx, caught(ctx, f))
}

// caught tells f's own errors from those of the file.
func caught(ctx context.Context, f func(approval.Tx) error) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		t := &approvalTx{ctx: ctx, tx: tx}
		err := f(t)
		if err != nil && t.failed == nil {
			return refusal{err}
		}
		if t.failed != nil {
			return t.failed
		}
		return nil
	}
}

// approvalTx remembers the first failure of the file: after it nothing is kept.
type approvalTx struct {
	ctx    context.Context //nolint:containedctx // it lives as long as the transaction
	tx     *sql.Tx
	failed error
}

var _ approval.Tx = (*approvalTx)(nil)

const rowFields = `SELECT id, key, session, owner, client, over, state, asked, expires, bytes, body FROM approval`

func (t *approvalTx) Get(id string) (approval.Row, error) {
	row, err := scan(t.tx.QueryRowContext(t.ctx, rowFields+` WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return row, approval.ErrUnknown
	}
	return row, t.note(err)
}

func (t *approvalTx) Find(key string) ([]approval.Row, error) {
	return t.query(rowFields+` WHERE key = ? ORDER BY asked, id`, key)
}

func (t *approvalTx) All() ([]approval.Row, error) {
	return t.query(rowFields + ` ORDER BY asked, id`)
}

func (t *approvalTx) query(statement string, args ...any) ([]approval.Row, error) {
	rows, err := t.tx.QueryContext(t.ctx, statement, args...)
	if err != nil {
		return nil, t.note(err)
	}
	defer rows.Close()
	var out []approval.Row
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return nil, t.note(err)
		}
		out = append(out, row)
	}
	return out, t.note(rows.Err())
}

func scan(from interface{ Scan(...any) error }) (row approval.Row, err error) {
	var asked, expires int64
	err = from.Scan(&row.ID, &row.Key, &row.Session, &row.Owner, &row.Client, &row.Over, &row.State, &asked, &expires, &row.Bytes, &row.Body)
	row.Asked, row.Expires = time.UnixMilli(asked).UTC(), time.UnixMilli(expires).UTC()
	return row, err
}

const putRow = `INSERT INTO approval (id, key, session, owner, client, over, state, asked, expires, bytes, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (id) DO UPDATE SET key = excluded.key, session = excluded.session, owner = excluded.owner, client = excluded.client, over = excluded.over,
		state = excluded.state, asked = excluded.asked, expires = excluded.expires, bytes = excluded.bytes, body = excluded.body`

func (t *approvalTx) Put(row approval.Row) error {
	return t.exec(putRow, row.ID, row.Key, row.Session, row.Owner, row.Client, row.Over, row.State, row.Asked.UnixMilli(), row.Expires.UnixMilli(), row.Bytes, row.Body)
}

func (t *approvalTx) Delete(id string) error {
	if err := t.SetArgs(id, nil); err != nil {
		return err
	}
	return t.exec(`DELETE FROM approval WHERE id = ?`, id)
}

func (t *approvalTx) Args(id string) (args []byte, err error) {
	err = t.tx.QueryRowContext(t.ctx, `SELECT data FROM argument WHERE id = ?`, id).Scan(&args)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return args, t.note(err)
}

func (t *approvalTx) SetArgs(id string, args []byte) error {
	if args == nil {
		return t.exec(`DELETE FROM argument WHERE id = ?`, id)
	}
	return t.exec(`INSERT INTO argument (id, data) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data`, id, args)
}

func (t *approvalTx) exec(statement string, args ...any) error {
	_, err := t.tx.ExecContext(t.ctx, statement, args...)
	return t.note(err)
}

func (t *approvalTx) note(err error) error {
	if t.failed == nil {
		t.failed = err
	}
	return err
}
