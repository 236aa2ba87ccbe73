package sqlite

// KeepBytes sets how much data of records stays.
func (d *DB) KeepBytes(n int64) { d.keepBytes = n }
