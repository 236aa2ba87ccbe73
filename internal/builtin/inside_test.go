package builtin

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

// outside has a secret beside the served folder, and every kind of link to it.
func outside(t *testing.T) (served, string) {
	s := serve(t, map[string]string{"in/file.txt": "inside\n", "in/deep/other.txt": "inside too\n"})
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "secret.txt"), []byte("hunter2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(s.dir, out)
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(s.dir, name) }
	link(t, filepath.Join(out, "secret.txt"), at("to-file"))
	link(t, filepath.Join(relative, "secret.txt"), at("to-file-relative"))
	link(t, out, at("to-folder"))
	link(t, relative, at("to-folder-relative"))
	link(t, "chain2", at("chain1"))
	link(t, "in/../to-file-relative", at("chain2"))
	link(t, "/dev/zero", at("zero"))
	link(t, "/", at("top"))
	link(t, "loop", at("loop"))
	link(t, "nowhere", at("dangling"))
	link(t, "in/file.txt", at("good-file"))
	link(t, "in", at("good-folder"))
	link(t, "../file.txt", at("in/deep/up"))
	return s, out
}

func TestKeptInside(t *testing.T) {
	s, out := outside(t)
	for _, name := range []string{
		"to-file", "to-file-relative", "to-folder/secret.txt", "to-folder-relative/secret.txt", "chain1", "chain2", "zero",
		"top/etc/passwd", "top/dev/zero", "loop", "dangling", "..", "../x", "in/../../x", "in/../in/file.txt", "in/..",
		out + "/secret.txt", "/etc/passwd", "/dev/zero", "/", s.dir + "/../x", s.dir + "x/secret.txt", s.dir + "-other",
		s.dir + "/to-file", "in/file.txt/x", "in/file.txt/", "a\x00b", strings.Repeat("x/", 4000), strings.Repeat("x", 300), "",
	} {
		for _, tool := range []string{"read_file", "list_files", "search_text"} {
			if name == "in/file.txt/" || name == "" && tool != "read_file" {
				continue
			}
			text := s.refused(tool, `{"path":`+quote(name)+map[string]string{"search_text": `,"query":"hunter"}`}[tool]+closing(tool))
			if strings.Contains(text, "hunter2") || !strings.HasPrefix(name, "/") && strings.Contains(text, filepath.Dir(s.dir)) {
				t.Errorf("%s %q shows too much: %s", tool, name, text)
			}
		}
	}
	for _, name := range []string{"in/file.txt", "./in//file.txt", s.dir + "/in/file.txt", s.dir + "//in/./file.txt", "good-file", "good-folder/file.txt", "in/deep/up"} {
		if got := s.text("read_file", `{"path":`+quote(name)+`}`); got != "inside\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, name := range []string{"good-folder", s.dir + "/in", "in/"} {
		if got := s.text("list_files", `{"path":`+quote(name)+`}`); !strings.HasSuffix(got, "deep/\n"+filepath.Base(strings.TrimSuffix(strings.TrimPrefix(name, s.dir), "/"))+"/file.txt") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := s.text("list_files", `{"path":`+quote(s.dir)+`}`); !strings.Contains(got, "in/\n") {
		t.Error(got)
	}
}

func closing(tool string) string {
	if tool == "search_text" {
		return ""
	}
	return "}"
}

// A walk neither follows links out of the folder nor goes round in them.
func TestWalksFollowNoLinks(t *testing.T) {
	s, _ := outside(t)
	link(t, "..", filepath.Join(s.dir, "in/round"))
	if got := s.text("search_text", `{"query":"hunter"}`); got != "[Nothing found.]" {
		t.Error(got)
	}
	got := s.text("list_files", `{"recursive":true}`)
	if strings.Contains(got, "secret") || strings.Contains(got, "round/") || !strings.Contains(got, "in/deep/other.txt") {
		t.Error(got)
	}
}

// The folder's own name may lead through a link; both spellings are accepted.
func TestFolderBehindALink(t *testing.T) {
	real := t.TempDir()
	if err := os.WriteFile(filepath.Join(real, "a"), []byte("text\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "link")
	link(t, real, name)
	h, closer, err := Files(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = closer.Close() }()
	s := served{h, t, name}
	for _, dir := range []string{real, name} {
		if got := s.text("read_file", `{"path":`+quote(dir+"/a")+`}`); got != "text\n" {
			t.Error(got)
		}
	}
}

// Nothing but regular files is opened, and nothing blocks: a FIFO without a writer would wait for ever.
func TestSpecialFiles(t *testing.T) {
	s := serve(t, map[string]string{"a": "needle\n"})
	if err := syscall.Mkfifo(filepath.Join(s.dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	link(t, "fifo", filepath.Join(s.dir, "to-fifo"))
	l, err := net.Listen("unix", filepath.Join(s.dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for _, name := range []string{"fifo", "to-fifo", "socket"} {
		if got := s.refused("read_file", `{"path":"`+name+`"}`); !strings.Contains(got, "no regular file") {
			t.Errorf("%s: %s", name, got)
		}
		s.refused("search_text", `{"query":"x","path":"`+name+`"}`)
		s.refused("list_files", `{"path":"`+name+`"}`)
	}
	if got := s.text("search_text", `{"query":"needle"}`); got != "a:1: needle" {
		t.Error(got)
	}
}

// A file that becomes a FIFO after the look must not block either: the opening itself doesn't wait.
func TestOpeningDoesNotWait(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	file, err := root.OpenFile("fifo", os.O_RDONLY|nonblock, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
}

func TestHints(t *testing.T) {
	s := serve(t, map[string]string{"README.md": "x\n", "src/Main.go": "x\n"})
	for _, c := range []struct{ tool, path, want string }{
		{"read_file", "readme.MD", "did you mean README.md?"},
		{"read_file", "src/main.go", "did you mean src/Main.go?"},
		{"read_file", "none/x", "list_files shows"},
		{"read_file", "src", "is a folder"},
		{"list_files", "README.md", "read_file shows"},
		{"read_file", "../README.md", `".." is not allowed`},
		{"read_file", "/etc/passwd", "outside the working folder"},
	} {
		if got := s.refused(c.tool, `{"path":"`+c.path+`"}`); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.path, got)
		}
	}
}
