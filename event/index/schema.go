package index

import "fmt"

const (
	applicationID = 0x75736578 // "usex"
	version       = 1          // of the schema and of what the columns mean; another one is built anew
)

// schema is of the file. An event's place in the order of time is (at, file, offset): at is the microsecond as clock
// counts it, and the numbers of files are in the order of their names. off is its own time less at. tool is the tool that
// it names, or that its call does; call is a digest. Zero stands for none.
var schema = fmt.Sprintf(`
CREATE TABLE process (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, at INTEGER NOT NULL);
CREATE TABLE file (
  id INTEGER PRIMARY KEY, process INTEGER NOT NULL, name TEXT NOT NULL UNIQUE,
  taken INTEGER NOT NULL, lines INTEGER NOT NULL, hash TEXT NOT NULL,
  size INTEGER NOT NULL, changed INTEGER NOT NULL, inode INTEGER NOT NULL, sealed INTEGER NOT NULL);
CREATE TABLE bad (file INTEGER NOT NULL, line INTEGER NOT NULL, text TEXT NOT NULL);
CREATE TABLE word (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, text TEXT NOT NULL, host INTEGER NOT NULL DEFAULT 0,
  UNIQUE (kind, text));
CREATE TABLE event (
  at INTEGER NOT NULL, file INTEGER NOT NULL, start INTEGER NOT NULL, size INTEGER NOT NULL, off INTEGER NOT NULL,
  session INTEGER NOT NULL, type INTEGER NOT NULL, server INTEGER NOT NULL, tool INTEGER NOT NULL, call INTEGER NOT NULL,
  PRIMARY KEY (at, file, start)) WITHOUT ROWID;
CREATE INDEX session ON event (session);
CREATE INDEX type ON event (type);
CREATE INDEX server ON event (server) WHERE server > 0;
CREATE INDEX tool ON event (tool) WHERE tool > 0;
CREATE INDEX call ON event (call) WHERE call <> 0;
CREATE TABLE drift (early INTEGER NOT NULL, late INTEGER NOT NULL);
INSERT INTO drift VALUES (0, 0);
PRAGMA application_id = %d;
PRAGMA user_version = %d;
`, applicationID, version)

// Kinds of words.
const (
	wordSession = iota
	wordType
	wordServer
	wordTool
)
