package connect

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Record is what is kept of a file that usher was written into, as JSON in the data folder. It has what stood in the
// client's file, so only its user may read it.
type Record struct {
	Client string    `json:"client"`
	File   string    `json:"file"`
	Before string    `json:"before"`           // "sha256:" and hex of the file before the first time; "": there was none
	After  string    `json:"after"`            // of the file as it was left
	Exact  bool      `json:"exact"`            // nobody else wrote the file between the first and the last time
	Backup string    `json:"backup,omitempty"` // the file before, beside the record
	Made   []string  `json:"made,omitempty"`   // folders that were made for the file
	At     time.Time `json:"at"`

	Entries []recorded `json:"entries"`
	Moved   []moved    `json:"moved,omitempty"`
}

// recorded is an entry of ours.
type recorded struct {
	Name   string `json:"name"`
	Server string `json:"server,omitempty"`
}

// moved is an entry of the client's own that was taken out.
type moved struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

func (r *Record) has(name string) bool {
	return r != nil && slices.ContainsFunc(r.Entries, func(e recorded) bool { return e.Name == name })
}

func (r *Record) movedText(name string) string {
	for _, m := range r.Moved {
		if m.Name == name {
			return m.Text
		}
	}
	return ""
}

// after is the record once p is done. Where nobody else wrote the file meanwhile it still leads back to the beginning.
func (r *Record) after(p *Plan, w *wanting) *Record {
	next := &Record{Client: p.Client.Name, File: p.Target, After: digest(p.After), At: p.now().UTC().Truncate(time.Second)}
	next.Entries = w.ours
	next.Moved = w.moved
	next.Before, next.Exact = digest(p.Before), true
	next.Backup = backupName(recordID(p.Client.Name, p.Target), p.Before)
	if r == nil {
		return next
	}
	next.Moved = slices.Concat(w.moved, r.Moved)
	next.Before, next.Backup, next.Made = r.Before, r.Backup, r.Made
	next.Exact = r.Exact && r.After == digest(p.Before)
	return next
}

// digest is "" for what isn't there.
func digest(data []byte) string {
	if data == nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// recordID is part of the names of what is kept for a file.
func recordID(client, target string) string {
	sum := sha256.Sum256([]byte(target))
	return client + "-" + hex.EncodeToString(sum[:6])
}

func backupName(id string, data []byte) string {
	if data == nil {
		return ""
	}
	return id + "." + digest(data)[len("sha256:"):][:16] + ".bak"
}

func folder(data string) string { return filepath.Join(data, "connect") }

const maxRecord = 8 << 20

// readRecord returns nil where there is none. One that can't be read counts as none: then only what is plainly ours goes.
func readRecord(data, id string) (*Record, error) {
	b, err := os.ReadFile(filepath.Join(folder(data), id+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, described(err, "can't read the record", id)
	}
	r := new(Record)
	if len(b) > maxRecord || json.Unmarshal(b, r) != nil {
		return nil, nil
	}
	return r, nil
}

func (r *Record) write(data, id string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return err
	}
	return replace(filepath.Join(folder(data), id+".json"), b.Bytes(), 0o600)
}

// backup keeps data, and of what was kept for the file before only a few and the first.
func (p *Plan) backup(id string) error {
	name := backupName(id, p.Before)
	if name == "" {
		return nil
	}
	path := filepath.Join(folder(p.data), name)
	if _, err := os.Stat(path); err != nil {
		if err := replace(path, p.Before, 0o600); err != nil {
			return err
		}
	}
	p.prune(id, name)
	return nil
}

const maxBackups = 8

func (p *Plan) prune(id, newest string) {
	names, _ := filepath.Glob(filepath.Join(folder(p.data), id+".*.bak"))
	if len(names) <= maxBackups {
		return
	}
	age := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(names, func(a, b string) int { return int(min(1, max(-1, age(a)-age(b)))) })
	for _, path := range names[:len(names)-maxBackups] {
		if name := filepath.Base(path); name != newest && (p.next == nil || name != p.next.Backup) {
			_ = os.Remove(path)
		}
	}
}
