package journal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/journal"
)

// damaged is a copy of a good journal of two processes: the first one rotated, the second one took it over.
type damaged struct {
	t     *testing.T
	names []string
}

func (d damaged) lines(file int) [][]byte {
	b, err := os.ReadFile(d.names[file])
	if err != nil {
		d.t.Fatal(err)
	}
	return bytes.SplitAfter(b, []byte("\n"))
}

func (d damaged) write(file int, lines ...[]byte) {
	m := mode(d.t, d.names[file])
	if err := os.Remove(d.names[file]); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(d.names[file], bytes.Join(lines, nil), m); err != nil {
		d.t.Fatal(err)
	}
}

func (d damaged) edit(file int, f func(lines [][]byte) [][]byte) { d.write(file, f(d.lines(file))...) }

func (d damaged) drop(file int) {
	if err := os.Remove(d.names[file]); err != nil {
		d.t.Fatal(err)
	}
}

// forge makes a line with a right hash that says something else than line does.
func (d damaged) forge(line []byte, change func(*event.Event)) []byte {
	e, err := event.ParseLine(bytes.TrimSuffix(line, []byte("\n")))
	if err != nil {
		d.t.Fatal(err)
	}
	e.Data = bytes.ReplaceAll(e.Data, []byte(`"c`), []byte(`"x`))
	if change != nil {
		change(&e)
	}
	out, _ := event.AppendLine(nil, e.Seq, e.Session, []byte(e.Time.Format(event.TimeFormat)), e.Type, e.Data, []byte(e.Prev))
	return out
}

func flip(b []byte, old, new string) []byte { return bytes.Replace(b, []byte(old), []byte(new), 1) }

// H6. Lines 2 to 9 of file 1 are of one session (from 0). Without the check of its kind in verify.go or chain.go, each of these
// passed or was named otherwise.
var tampering = []struct {
	name string
	kind journal.ProblemKind
	do   func(d damaged)
}{
	{"a byte of the data", journal.ProblemHash, func(d damaged) {
		d.edit(1, func(l [][]byte) [][]byte { l[3] = flip(l[3], `"c`, `"d`); return l })
	}},
	{"a byte of the time", journal.ProblemHash, func(d damaged) {
		d.edit(1, func(l [][]byte) [][]byte { l[3] = flip(l[3], `:00:`, `:01:`); return l })
	}},
	{"a byte of the hash", journal.ProblemHash, func(d damaged) {
		d.edit(1, func(l [][]byte) [][]byte {
			digit := &l[3][len(l[3])-4]
			*digit = "0123456789abcdef0"[strings.IndexByte("0123456789abcdef", *digit)+1]
			return l
		})
	}},
	{"a byte of the first line", journal.ProblemHash, func(d damaged) {
		d.edit(0, func(l [][]byte) [][]byte { l[0] = flip(l[0], `host`, `hosu`); return l })
	}},
	{"a byte of the structure", journal.ProblemLine, func(d damaged) {
		d.edit(1, func(l [][]byte) [][]byte { l[3] = flip(l[3], `"type":`, `"tipe":`); return l })
	}},
	{"a line deleted", journal.ProblemGap, func(d damaged) {
		d.edit(1, func(l [][]byte) [][]byte { return slices.Delete(l, 3, 4) })
	}},
	{"two lines swapped", journal.ProblemOrder, func(d damaged) {
		d.edit(1, func(l [][]byte) [][]byte { l[3], l[4] = l[4], l[3]; return l })
	}},
	{"a line moved", journal.ProblemOrder, func(d damaged) {
		d.edit(1, func(l [][]byte) [][]byte { return slices.Insert(slices.Delete(slices.Clone(l), 2, 3), 5, l[2]) })
	}},
	{"a line twice", journal.ProblemDuplicate, func(d damaged) {
		d.edit(1, func(l [][]byte) [][]byte { return slices.Insert(l, 4, l[3]) })
	}},
	{"an old line again", journal.ProblemDuplicate, func(d damaged) {
		d.edit(1, func(l [][]byte) [][]byte { return slices.Insert(l, 6, l[2]) })
	}},
	{"a forged line before the real one", journal.ProblemForged, func(d damaged) {
		d.edit(1, func(l [][]byte) [][]byte { return slices.Insert(l, 3, d.forge(l[3], nil)) })
	}},
	{"a forged line instead of the real one", journal.ProblemChain, func(d damaged) {
		d.edit(1, func(l [][]byte) [][]byte { l[3] = d.forge(l[3], nil); return l })
	}},
	{"a forged line without its predecessor", journal.ProblemChain, func(d damaged) {
		d.edit(1, func(l [][]byte) [][]byte {
			l[3] = d.forge(l[3], func(e *event.Event) { e.Prev = strings.Repeat("0", event.HashLen) })
			return l
		})
	}},
	{"a forged line with a hash of its own", journal.ProblemHash, func(d damaged) {
		d.edit(1, func(l [][]byte) [][]byte { return slices.Insert(l, 3, flip(l[3], `"c`, `"d`)) })
	}},
	{"a forged session in a finished file", journal.ProblemGrown, func(d damaged) {
		d.edit(1, func(l [][]byte) [][]byte {
			return append(l, d.forge(l[3], func(e *event.Event) { e.Seq, e.Prev, e.Session = 1, "", "s_forged" }))
		})
	}},
	{"a session gone on with after its end", journal.ProblemGrown, func(d damaged) {
		d.edit(len(d.names)-2, func(l [][]byte) [][]byte {
			last := l[len(l)-2]
			e, err := event.ParseLine(last[:len(last)-1])
			if err != nil {
				d.t.Fatal(err)
			}
			return append(l, d.forge(last, func(f *event.Event) { f.Seq, f.Prev = e.Seq+1, e.Hash }))
		})
	}},
	{"the last lines of a file", journal.ProblemCut, func(d damaged) {
		d.edit(len(d.names)-2, func(l [][]byte) [][]byte { return l[:len(l)-3] })
	}},
	{"half of the last line of a finished file", journal.ProblemCut, func(d damaged) {
		d.edit(len(d.names)-2, func(l [][]byte) [][]byte {
			l = l[:len(l)-1]
			l[len(l)-1] = l[len(l)-1][:40]
			return l
		})
	}},
	{"the first file", journal.ProblemDropped, func(d damaged) { d.drop(0) }},
	{"the first file and the checkpoint that names it", journal.ProblemDropped, func(d damaged) {
		d.edit(1, func(l [][]byte) [][]byte { return l[1:] })
		d.drop(0)
	}},
	{"a file in the middle", journal.ProblemDropped, func(d damaged) { d.drop(1) }},
	{"the last file of the first process", journal.ProblemDropped, func(d damaged) { d.drop(len(d.names) - 2) }},
	{"all files of the first process", journal.ProblemDropped, func(d damaged) {
		for i := range len(d.names) - 1 {
			d.drop(i)
		}
	}},
	{"the newest file", journal.ProblemDropped, func(d damaged) { d.drop(len(d.names) - 1) }},
	{"the newest file's checkpoint and what follows", journal.ProblemDropped, func(d damaged) {
		d.edit(len(d.names)-1, func(l [][]byte) [][]byte { return l[:1] })
	}},
	{"a checkpoint", journal.ProblemGap, func(d damaged) {
		d.edit(len(d.names)-1, func(l [][]byte) [][]byte { return slices.Delete(l, 1, 2) })
	}},
	{"a whole session", journal.ProblemCut, func(d damaged) {
		for i := range d.names {
			d.edit(i, func(l [][]byte) [][]byte {
				return slices.DeleteFunc(l, func(b []byte) bool { return bytes.Contains(b, []byte(`"session":"a_0","time"`)) })
			})
		}
	}},
}

// told is what must be in a problem's text, where several checks would name the same kind.
var told = map[string]string{
	"the last lines of a file":                        "bytes at the end are missing",
	"half of the last line of a finished file":        "its last line is cut off",
	"a whole session":                                 "session a_0 ends with event 0, but this checkpoint knows of",
	"a session gone on with after its end":            "goes on after event",
	"the first file and the checkpoint that names it": "later ones of its process are there",
	"the newest file":                                 "no checkpoint names it",
}

func original(t *testing.T) string {
	dir := t.TempDir()
	o := fixed(dir)
	o.RotateBytes = 3000
	j := open(t, o)
	for _, id := range []string{"a_0", "a_1", "a_2"} {
		add(t, j, id, event.SessionStarted{Kind: "agent"})
		wait(t, j, add(t, j, id, call("c1")...))
		wait(t, j, add(t, j, id, call("c2")...))
		wait(t, j, add(t, j, id, event.SessionEnded{Reason: "done"}))
	}
	closed(t, j)
	o.RotateBytes = 0
	j = open(t, o)
	wait(t, j, add(t, j, "a_3", event.SessionStarted{Kind: "agent"}))
	closed(t, j)
	return dir
}

func copied(t *testing.T, from string) damaged {
	d := damaged{t: t}
	dir := t.TempDir()
	for _, name := range files(t, from) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(to, b, mode(t, name)); err != nil {
			t.Fatal(err)
		}
		d.names = append(d.names, to)
	}
	return d
}

func TestTampering(t *testing.T) {
	good := original(t)
	verified(t, filepath.Dir(copied(t, good).names[0]))
	for _, c := range tampering {
		t.Run(c.name, func(t *testing.T) {
			d := copied(t, good)
			c.do(d)
			report, ok := verify(t, filepath.Dir(d.names[0]))
			if ok || !slices.ContainsFunc(report.Problems, func(p journal.Problem) bool {
				return p.Kind == c.kind && strings.Contains(p.Text, told[c.name])
			}) {
				t.Errorf("%q isn't named: %v", c.kind, report.Problems)
			}
		})
	}
}

// A flipped byte, anywhere, never passes.
func TestEveryByte(t *testing.T) {
	dir := t.TempDir()
	j := open(t, fixed(dir))
	add(t, j, "s_1", event.SessionStarted{Kind: "agent"}, event.SessionEnded{Reason: "done"})
	closed(t, j)
	name := files(t, dir)[0]
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(b) - 1 { // without the last newline the last line would be torn
		b[i] ^= 1
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := journal.Verify(dir); err != nil || len(r.Problems) == 0 {
			t.Errorf("byte %d can be changed: %s", i, b)
		}
		b[i] ^= 1
	}
}

// A torn last line of a file that isn't finished is a crash, not damage, and so is a session without an end.
func TestTornIsANote(t *testing.T) {
	d := copied(t, original(t))
	last := len(d.names) - 1
	d.edit(last, func(l [][]byte) [][]byte { return append(l[:len(l)-2], []byte(`{"seq":3,"sess`)) })
	report := verified(t, filepath.Dir(d.names[0]))
	if notes := strings.Join(report.Notes, "\n"); len(report.Notes) != 3 || !strings.Contains(notes, "14 bytes") {
		t.Errorf("notes: %s", notes)
	}
	j := open(t, journal.Options{Dir: filepath.Dir(d.names[0])})
	closed(t, j)
	report = verified(t, filepath.Dir(d.names[0]))
	if len(report.Notes) > 0 {
		t.Errorf("notes after recovery: %v", report.Notes)
	}
	cut := read(t, filepath.Dir(d.names[0]), journal.Filter{Session: j.Host(), Type: "log.checkpoint"})
	if len(cut) != 1 || !bytes.Contains(cut[0].Data, []byte(`"torn":14`)) {
		t.Errorf("checkpoint: %v", cut)
	}
}
