-- +goose Up
CREATE TABLE catalog (
	key    TEXT PRIMARY KEY,
	server TEXT NOT NULL,
	saved  INTEGER NOT NULL, -- seconds since 1970
	sum    INTEGER NOT NULL, -- CRC-32C of data
	data   BLOB NOT NULL
) STRICT;

-- +goose Down
DROP TABLE catalog;
