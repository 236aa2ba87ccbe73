package index

import (
	"context"

	"github.com/usher-mcp/usher/event/journal"
)

// drop deletes files, what is of them, and the names that only they had. Call it within a transaction.
func (b *base) drop(ctx context.Context, which string, args ...any) error {
	b.words.reset() // which may be of them
	for _, from := range [...]string{"event WHERE file IN (SELECT id FROM file WHERE " + which + ")",
		"bad WHERE file IN (SELECT id FROM file WHERE " + which + ")", "file WHERE " + which} {
		if _, err := b.conn.ExecContext(ctx, "DELETE FROM "+from, args...); err != nil {
			return err
		}
	}
	_, err := b.conn.ExecContext(ctx, unused)
	return err
}

// unused deletes processes without files, and names without events. The kinds are those of schema.
const unused = `
DELETE FROM process WHERE id NOT IN (SELECT process FROM file);
DELETE FROM word WHERE kind = 0 AND id NOT IN (SELECT session FROM event);
DELETE FROM word WHERE kind = 1 AND id NOT IN (SELECT type FROM event);
DELETE FROM word WHERE kind = 2 AND id NOT IN (SELECT server FROM event WHERE server > 0);
DELETE FROM word WHERE kind = 3 AND id NOT IN (SELECT tool FROM event WHERE tool > 0);`

// all deletes everything, which SQLite does at once.
const all = `
DELETE FROM event; DELETE FROM bad; DELETE FROM file; DELETE FROM process; DELETE FROM word;
UPDATE drift SET early = 0, late = 0;`

// dropFrom drops all of a process and of those that started later: what their events are about hangs on what was before,
// and so do the numbers of their files. Call it within a transaction.
func (b *base) dropFrom(ctx context.Context, process string) error {
	var earlier bool
	if err := b.conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM process WHERE name < ?)", process).Scan(&earlier); err != nil {
		return err
	}
	if earlier {
		return b.drop(ctx, "process IN (SELECT id FROM process WHERE name >= ?)", process)
	}
	b.words.reset()
	_, err := b.conn.ExecContext(ctx, all)
	return err
}

// later reports whether what belongs behind a file that isn't known was read already: later files of its process or, if
// that isn't known either, later processes. Several processes that run at once go on to their next files in any order.
func (b *base) later(ctx context.Context, f journal.File) (is bool, err error) {
	err = b.conn.QueryRowContext(ctx, `SELECT CASE WHEN EXISTS (SELECT 1 FROM process WHERE name = ?1)
		THEN EXISTS (SELECT 1 FROM file JOIN process ON process.id = file.process WHERE process.name = ?1 AND file.name > ?2)
		ELSE EXISTS (SELECT 1 FROM process WHERE name > ?1) END`, f.Process, f.Name).Scan(&is)
	return is, err
}
