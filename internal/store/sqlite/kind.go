package sqlite

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

//go:embed migrations/*.sql
var cacheMigrations embed.FS

//go:embed migrations/ledger/*.sql
var ledgerMigrations embed.FS

// kind is what the files of one use have in common.
type kind struct {
	what        string // as a person reads it
	synchronous string
	busy        time.Duration // how long a statement waits for another process
	files       embed.FS
	folder      string // of the migrations
	schema      int    // the number of the last migration: a file whose user_version it is needs no look at them
	throwAway   bool   // it holds only what can be found out again
}

func cacheKind() kind {
	return kind{
		what: "cache", synchronous: "NORMAL", busy: 2 * time.Second, files: cacheMigrations, folder: "migrations", schema: 1, throwAway: true,
	}
}

func ledgerKind() kind {
	return kind{
		what: "ledger", synchronous: "FULL", busy: 5 * time.Second, files: ledgerMigrations, folder: "migrations/ledger", schema: 1,
	}
}

// asideTime is how the name of a file that was set aside says when.
const asideTime = "20060102T150405Z"

// aside is what is added to the name of a bad file. A file that may be thrown away takes the place of the one before;
// any other gets a name of its own.
func (k kind) aside(path, suffix string) string {
	if k.throwAway {
		return suffix
	}
	suffix += "-" + time.Now().UTC().Format(asideTime)
	for i := 1; ; i++ {
		name := suffix
		if i > 1 {
			name = fmt.Sprintf("%s-%d", suffix, i)
		}
		if _, err := os.Lstat(path + name); err != nil {
			return name
		}
	}
}

// notice tells a person that a file was set aside.
func (k kind) notice(path, why, suffix string) string {
	text := fmt.Sprintf("%s %s; it was renamed to %s and begun anew. ", path, why, filepath.Base(path)+suffix)
	if k.throwAway {
		return text + "It held only what can be found out again: you may delete it."
	}
	return text + "Open questions and their answers, and which projects' servers you trust, were in it: you will be asked again. What had taken in private data was in it, too: for an hour, calls that reach out ask."
}
