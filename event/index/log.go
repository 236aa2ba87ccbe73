package index

import (
	"context"
	"errors"
)

// Log finds events in the log of a folder. Its methods must not run at once; other Logs, of this process or another, may
// be open in the same folder.
type Log struct {
	dir    string
	base   *base  // nil: the journal itself is read
	direct error  // why, if not because that was asked for
	at     places // how far the last Find has read
	memory *memory
}

// Open brings the index of dir up to what the log has now, and makes it where there is none, or none that is whole. told,
// which may be nil, hears now and then how many bytes of how many are done; when it is made anew that takes about 15 s
// for a million events. Where the index can't be kept, as in a folder that is read-only, Find reads the journal itself; Direct says
// why. An error says that the log itself can't be read.
func Open(ctx context.Context, dir string, told func(done, total int64)) (*Log, error) {
	if told == nil {
		told = func(int64, int64) {}
	}
	l := &Log{dir: dir}
	return l, l.fill(ctx, told)
}

// OpenDirect is Open without an index: all of the journal is read each time. For who wants all of it that is quicker.
func OpenDirect(dir string) *Log { return &Log{dir: dir} }

func (l *Log) fill(ctx context.Context, told func(done, total int64)) (err error) {
	if l.base, err = openBase(ctx, l.dir); err != nil {
		return l.without(ctx, err)
	}
	for tries := 0; ; tries++ {
		err = l.base.update(ctx, l.dir, told)
		switch {
		case err == nil:
			return nil
		case tries == 3:
			return l.without(ctx, err)
		case errors.Is(err, errChanged):
		case damage(err):
			if err := l.renew(ctx); err != nil {
				return l.without(ctx, err)
			}
		default:
			return l.without(ctx, err)
		}
	}
}

// renew puts a new, empty index in the place of one that is damaged.
func (l *Log) renew(ctx context.Context) (err error) {
	l.closeBase()
	if err := remove(ctx, l.dir); err != nil {
		return err
	}
	l.base, err = openBase(ctx, l.dir)
	return err
}

// without goes on without the index, unless err is not about that.
func (l *Log) without(ctx context.Context, err error) error {
	l.closeBase()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if journal, ok := errors.AsType[*logError](err); ok {
		return journal.error
	}
	l.direct = err
	return nil
}

// logError is an error of the log, not of the index.
type logError struct{ error }

func (e *logError) Unwrap() error { return e.error }

// Direct says why there is no index to look in; nil where there is one, or none was asked for.
func (l *Log) Direct() error { return l.direct }

// Servers are all that the log names, in no order. Without an index it is nil, and known is false.
func (l *Log) Servers(ctx context.Context) (names []string, known bool) {
	return l.words(ctx, wordServer)
}

// Tools are the names of all tools in the log, as they stand there; else as Servers.
func (l *Log) Tools(ctx context.Context) (names []string, known bool) { return l.words(ctx, wordTool) }

func (l *Log) words(ctx context.Context, kind int) ([]string, bool) {
	if l.base == nil {
		return nil, false
	}
	names, err := l.base.names(ctx, kind)
	return names, err == nil
}

// Find calls each for the events that q chooses, in the order of time of journal.Timeline as of Open, and for each line
// of the log that is no event. It ends with the first error of each.
func (l *Log) Find(ctx context.Context, q Query, each func(Found) error) (Summary, error) {
	q.Limit = max(q.Limit, 0)
	if l.base == nil {
		return l.read(ctx, q, each)
	}
	begun := false
	note := func(f Found) error { begun = true; return each(f) }
	sum, err := l.look(ctx, q, note)
	if damage(err) {
		if err = l.renew(ctx); err == nil && begun {
			return sum, errors.New("the index of the log was damaged and is made anew; ask again")
		}
		if err == nil {
			err = l.base.update(ctx, l.dir, func(int64, int64) {})
		}
		if err == nil {
			sum, err = l.look(ctx, q, note)
		}
	}
	taker, taken := errors.AsType[stop](err)
	switch {
	case err == nil:
		return sum, nil
	case taken:
		return sum, taker.error
	case begun:
		return sum, err
	}
	if err := l.without(ctx, err); err != nil {
		return sum, err
	}
	return l.read(ctx, q, each)
}

func (l *Log) look(ctx context.Context, q Query, each func(Found) error) (sum Summary, err error) {
	l.memory = nil // until Follow needs it
	sum, l.at, err = l.base.find(ctx, l.dir, q, each)
	return sum, err
}

// Close lets go of the index.
func (l *Log) Close() error {
	l.closeBase()
	return nil
}

func (l *Log) closeBase() {
	if l.base != nil {
		l.base.close()
		l.base = nil
	}
}
