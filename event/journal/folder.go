package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	stampFormat  = "20060102T150405.000000Z" // without its dot in a name
	lastRotation = 9999                      // four digits, so that names sort
)

var fileName = regexp.MustCompile(`^(\d{8}T\d{12}Z)-[0-9a-f]{8}-(\d{4})\.jsonl$`)

// entry is one journal file of a folder.
type entry struct {
	name     string
	group    string // the name without rotation: one process
	rotation int
	size     int64
	sealed   bool // read-only: finished, and named by a checkpoint in a later file
}

// list returns the journal files of dir by name, which is in the order in which their processes started. Anything else
// in dir is left alone.
func list(dir string) ([]entry, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []entry
	for _, n := range names {
		m := fileName.FindStringSubmatch(n.Name())
		if m == nil {
			continue
		}
		// In this order: a file that was finished in the meantime is then seen no older than the one that follows it.
		info, err := os.Lstat(filepath.Join(dir, n.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			continue
		}
		rotation, _ := strconv.Atoi(m[2])
		out = append(out, entry{name: n.Name(), group: strings.TrimSuffix(n.Name(), "-"+m[2]+".jsonl"),
			rotation: rotation, size: info.Size(), sealed: info.Mode().Perm()&0o200 == 0})
	}
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// settled lists dir until no file appears meanwhile, so that a sealed file comes with the one whose checkpoint names it.
func settled(dir string) ([]entry, error) {
	names := func(es []entry) (out []string) {
		for _, e := range es {
			out = append(out, e.name)
		}
		return out
	}
	before, err := list(dir)
	for err == nil {
		var now []entry
		if now, err = list(dir); err != nil || slices.Equal(names(before), names(now)) {
			break
		}
		before = now
	}
	return before, err
}

// groupName names the files of a process that starts now. It sorts after all that are there, also when the clock has
// been set back. Call it with the folder locked.
func groupName(now time.Time, id string, there []entry) string {
	now = now.UTC().Truncate(time.Microsecond)
	if len(there) > 0 {
		last := there[len(there)-1].name
		last = last[:15] + "." + last[15:22]
		if t, err := time.Parse(stampFormat, last); err == nil && !now.After(t) {
			now = t.Add(time.Microsecond)
		}
	}
	sum := sha256.Sum256([]byte(id))
	return strings.Replace(now.Format(stampFormat), ".", "", 1) + "-" + hex.EncodeToString(sum[:4])
}

// file is the one that this process writes.
type file struct {
	f        *os.File
	name     string
	rotation int
	size     int64 // bytes of whole, written (and with full durability synced) lines
}

// create makes a file of this process and takes its lock.
func create(dir, group string, rotation int, full bool) (*file, error) {
	name := fmt.Sprintf("%s-%04d.jsonl", group, rotation)
	flags := os.O_CREATE | os.O_RDWR
	if rotation == 0 {
		flags |= os.O_EXCL // later ones may be left from an attempt that failed half-way
	}
	f, err := os.OpenFile(filepath.Join(dir, name), flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err = lockNew(f); err == nil && full {
		err = syncDir(dir)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &file{f: f, name: name, rotation: rotation}, nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
