package foreign

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/sys/unix"
)

// A file that isn't one neither blocks nor counts.
func TestOddFiles(t *testing.T) {
	dir := t.TempDir()
	fifo, big, bad := filepath.Join(dir, "fifo"), filepath.Join(dir, "big.json"), filepath.Join(dir, "bad.json")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(big, make([]byte, maxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bad, []byte("{\n\"a\": \"\xff\"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		fifo: "no regular file", dir: "a folder", big: "larger than 4 MiB", bad: "not UTF-8", "/dev/null": "no regular file", filepath.Join(dir, "none"): "no such file",
	} {
		r := Read(Machine{}, Place{Product: "claude", Path: path})
		if r.Err == nil || !strings.Contains(r.Err.Error(), want) {
			t.Errorf("%s: got %v, want %s", path, r.Err, want)
		}
	}
}

func TestEncodings(t *testing.T) {
	const text = "{\"mcpServers\": {\"ü\": {\"command\": \"x\"},}} // ü"
	utf16le := []byte{0xff, 0xfe}
	utf16be := []byte{0xfe, 0xff}
	for _, u := range utf16.Encode([]rune(text)) {
		utf16le = binary.LittleEndian.AppendUint16(utf16le, u)
		utf16be = binary.BigEndian.AppendUint16(utf16be, u)
	}
	for name, data := range map[string][]byte{"plain": []byte(text), "bom": []byte("\xef\xbb\xbf" + text), "le": utf16le, "be": utf16be} {
		r := Parse(Machine{}, Place{Product: "claude", Path: "x.json"}, data)
		if r.Err != nil || len(r.Entries) != 1 || r.Entries[0].Name != "ü" {
			t.Errorf("%s: %v %v", name, r.Err, r.Entries)
		}
	}
}

// Depth and aliases are bounded before anything recurses over them.
func TestBombs(t *testing.T) {
	deep := func(open, end string) string { return strings.Repeat(open, 1<<20) + strings.Repeat(end, 1<<20) }
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'j'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+", ", 10), ", ") + "]\n"
	}
	for name, text := range map[string]string{
		"a.json": deep("[", "]"), "b.json": deep(`{"a":`, "}"), "c.toml": "a = " + deep("[", "]"), "d.toml": "a = " + deep("{a=", "}"),
		"e.yaml": deep("[", "]"), "f.yaml": strings.Repeat("- ", 1<<20), "g.yaml": bomb, "h.yaml": "a: &a [*a]",
	} {
		if r := Parse(Machine{}, Place{Product: "claude", Path: name}, []byte(text)); r.Err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	dotted := strings.Repeat("a.", 1<<20) + "a = 1" // no tree of that depth is made
	if n, err := parseTOML([]byte(dotted)); err == nil && depth(n) > maxDepth+2 {
		t.Error("too deep")
	}
	if n, err := parseTOML([]byte("[" + strings.Repeat("a.", 1<<20) + "a]\nb = 1")); err == nil && depth(n) > maxDepth+2 {
		t.Error("too deep")
	}
}

func depth(n *node) int {
	d := 0
	for len(n.members) > 0 {
		n, d = n.members[0].value, d+1
	}
	return d
}
