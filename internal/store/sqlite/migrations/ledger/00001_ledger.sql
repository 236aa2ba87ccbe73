-- +goose Up
CREATE TABLE approval (
	id      TEXT PRIMARY KEY,
	key     TEXT NOT NULL, -- hash of what the question is bound to, but for the session
	session TEXT NOT NULL,
	owner   TEXT NOT NULL, -- the process whose session it is
	client  TEXT NOT NULL, -- hash of principal and client
	over    INTEGER NOT NULL, -- 1: the session has ended
	state   INTEGER NOT NULL,
	asked   INTEGER NOT NULL, -- milliseconds since 1970, like expires
	expires INTEGER NOT NULL,
	bytes   INTEGER NOT NULL, -- of the arguments
	body    BLOB NOT NULL
) STRICT;
CREATE INDEX approval_key ON approval (key);

CREATE TABLE argument (
	id   TEXT PRIMARY KEY REFERENCES approval (id),
	data BLOB NOT NULL
) STRICT;

CREATE TABLE trust (
	key    TEXT PRIMARY KEY, -- hash over folder, name and entry
	folder TEXT NOT NULL,
	name   TEXT NOT NULL,
	by     TEXT NOT NULL,
	at     INTEGER NOT NULL -- milliseconds since 1970
) STRICT;

CREATE TABLE mark (
	key    TEXT NOT NULL, -- a server that was given something, or a client that knows it
	source TEXT NOT NULL,
	labels INTEGER NOT NULL,
	at     INTEGER NOT NULL, -- milliseconds since 1970
	PRIMARY KEY (key, source)
) STRICT;
CREATE INDEX mark_at ON mark (at);

CREATE TABLE client (
	pid   INTEGER NOT NULL,
	start INTEGER NOT NULL, -- of the process, in the kernel's ticks since boot
	host  INTEGER NOT NULL, -- pid of the usher that it is connected to
	what  TEXT NOT NULL,
	PRIMARY KEY (pid, start, host)
) STRICT;

-- +goose Down
DROP TABLE client;
DROP TABLE mark;
DROP TABLE trust;
DROP TABLE argument;
DROP TABLE approval;
