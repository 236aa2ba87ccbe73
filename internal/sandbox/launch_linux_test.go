package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func write(t *testing.T, path, text string, mode fs.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// B1: what the child gets is what was asked for and nothing of ours.
func TestChildSeesOnlyItsEnvironmentAndDirectory(t *testing.T) {
	t.Setenv("SECRET_OF_OURS", "1")
	eachLauncher(t, func(t *testing.T, l Launcher) {
		dir := t.TempDir()
		env := []string{"PATH=" + os.Getenv("PATH"), "ODD=a\nb\xff", "X=1"}
		p := start(t, l, Spec{Command: "env", Args: []string{"-0"}, Env: env, Dir: dir})
		out, err := io.ReadAll(p.Stdout())
		if want := strings.Join(env, "\x00") + "\x00"; err != nil || string(out) != want {
			t.Errorf("environment %q, %v, want %q", out, err, want)
		}
		p = start(t, l, Spec{Command: "/bin/sh", Args: []string{"-c", "pwd -P; printf '<%s>' \"$@\"", "sh", "", "a b"}, Dir: dir})
		out, _ = io.ReadAll(p.Stdout())
		if want := dir + "\n<><a b>"; string(out) != want {
			t.Errorf("got %q, want %q", out, want)
		}
	})
}

// B1: three blocking pipes, no other file, no signal ignored or blocked.
func TestChildStartsClean(t *testing.T) {
	leak, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	if fd, err := syscall.Dup(int(leak.Fd())); err != nil { // not close-on-exec
		t.Fatal(err)
	} else {
		defer syscall.Close(fd)
	}
	p := start(t, withWatchdog(), shell(`
		for i in 0 1 2; do grep flags /proc/$$/fdinfo/$i; done | while read x flags; do
			[ $(( flags & 04000 )) = 0 ] && echo -n 'blocking '; done
		grep -E 'Sig(Blk|Ign)' /proc/$$/status | tr '\n\t' '  '
		exec ls -x /proc/self/fd`))
	out, _ := io.ReadAll(p.Stdout())
	// 3 is the listed directory.
	want := "blocking blocking blocking SigBlk: 0000000000000000 SigIgn: 0000000000000000 0  1  2  3\n"
	if string(out) != want {
		t.Errorf("got  %s\nwant %s", out, want)
	}
}

func TestStdioAndExit(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l Launcher) {
		var ring Ring
		s := shell(`read x; echo "got $x"; echo oops >&2; exit 7`)
		s.Stderr = &ring
		p := start(t, l, s)
		if e := p.Exit(); !errors.Is(e.Err, ErrRunning) {
			t.Errorf("early exit %v", e)
		}
		if _, err := io.WriteString(p.Stdin(), "hello\n"); err != nil {
			t.Fatal(err)
		}
		out, err := io.ReadAll(p.Stdout())
		if string(out) != "got hello\n" || err != nil {
			t.Errorf("output %q, %v", out, err)
		}
		await(t, "exit", p.Done())
		if e := p.Exit(); e.String() != "exit status 7" || e.Code != 7 {
			t.Errorf("exit %#v", e)
		}
		p.Stop()
		if got := ring.Tail(100); got != "oops\n" {
			t.Errorf("stderr %q", got)
		}
	})
}

// The pipes end with the child's use of them, since no one else has them open.
func TestChildClosesItsPipes(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l Launcher) {
		s := shell(`exec <&- 2>&-; echo bye; exec >&-; sleep 1000`)
		s.Stderr = io.Discard
		p := start(t, l, s)
		if out, err := io.ReadAll(p.Stdout()); string(out) != "bye\n" || err != nil {
			t.Errorf("output %q, %v", out, err)
		}
		if _, err := io.WriteString(p.Stdin(), "x"); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("writing to closed input: %v", err)
		}
		await(t, "end of standard error", p.drained)
		select {
		case <-p.Done():
			t.Errorf("the child has exited: %v", p.Exit())
		default:
		}
	})
}

func TestExitBySignal(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l Launcher) {
		p := start(t, l, shell(`kill -SEGV $$`))
		await(t, "exit", p.Done())
		if e := p.Exit(); e.String() != "killed by SIGSEGV" || e.Code != -1 {
			t.Errorf("exit %#v", e)
		}
	})
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("full") }

// B1: standard error is drained even into a writer that fails, and into none.
func TestStderrNeverBlocksTheChild(t *testing.T) {
	for _, w := range []io.Writer{failingWriter{}, nil, new(bytes.Buffer)} {
		s := shell(`head -c 300000 /dev/zero >&2; echo done`)
		s.Stderr = w
		p := start(t, withWatchdog(), s)
		if out, err := io.ReadAll(p.Stdout()); string(out) != "done\n" || err != nil {
			t.Errorf("%T: %q, %v", w, out, err)
		}
		p.Stop()
		if b, ok := w.(*bytes.Buffer); ok && b.Len() != 300000 {
			t.Errorf("%d bytes arrived", b.Len())
		}
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "plain"), "x", 0o644)
	tests := []struct {
		name string
		spec Spec
		is   error
		want []string
	}{
		{"not found", Spec{Command: "no-such-tool", Env: []string{"PATH=/nowhere:" + dir + "::rel"}}, fs.ErrNotExist,
			[]string{`"no-such-tool"`, "command not found", "(searched /nowhere, " + dir + ")", "install"}},
		{"no PATH", Spec{Command: "ls"}, fs.ErrNotExist, []string{"no PATH", "full path"}},
		{"missing path", Spec{Command: dir + "/none"}, fs.ErrNotExist, []string{dir + "/none does not exist"}},
		{"not executable", Spec{Command: file}, fs.ErrPermission, []string{"not executable", "chmod +x"}},
		{"not executable in PATH", Spec{Command: "plain", Env: []string{"PATH=/nowhere:" + dir}}, fs.ErrPermission,
			[]string{file + " is not executable"}},
		{"directory", Spec{Command: dir}, syscall.EISDIR, []string{"is a directory"}},
		{"no directory", Spec{Command: "/bin/sh", Dir: dir + "/gone"}, fs.ErrNotExist,
			[]string{"working directory " + dir + "/gone does not exist", "create it"}},
		{"file as directory", Spec{Command: "/bin/sh", Dir: file}, syscall.ENOTDIR, []string{"not a directory"}},
		{"empty", Spec{}, fs.ErrInvalid, []string{"no command"}},
		{"NUL", Spec{Command: "/bin/sh", Env: []string{"A=s3cret\x00"}}, fs.ErrInvalid, []string{"NUL"}},
		{"no interpreter", Spec{Command: write(t, dir+"/lost", "#!/no/such/interpreter\n", 0o755)}, syscall.ENOENT,
			[]string{"interpreter", "missing"}},
		{"no program", Spec{Command: write(t, dir+"/bare", "echo\n", 0o755)}, syscall.ENOEXEC, []string{"#!/bin/sh"}},
		{"too long", Spec{Command: "/bin/sh", Args: []string{strings.Repeat("x", 3<<20)}}, syscall.E2BIG, []string{"shorten"}},
		{"far too long", Spec{Command: "/bin/sh", Args: []string{strings.Repeat("x", maxCommand)}}, syscall.E2BIG, []string{"shorten"}},
	}
	eachLauncher(t, func(t *testing.T, l Launcher) {
		for _, tt := range tests {
			_, err := l.Start(t.Context(), tt.spec)
			var se *StartError
			if !errors.As(err, &se) || !errors.Is(err, tt.is) {
				t.Errorf("%s: %v", tt.name, err)
				continue
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s: %q lacks %q", tt.name, err, part)
				}
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: a value in %q", tt.name, err)
			}
		}
	})
}

// The child's PATH counts and not ours; a relative path is taken from Dir.
func TestLookup(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "mytool"), "#!/bin/sh\necho mine\n", 0o755)
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "/nowhere")
	for _, s := range []Spec{
		{Command: "mytool", Env: []string{"PATH=/nowhere:" + dir}},
		{Command: "./mytool", Dir: dir},
		{Command: "../mytool", Dir: dir + "/sub"},
	} {
		p := start(t, withWatchdog(), s)
		if out, _ := io.ReadAll(p.Stdout()); string(out) != "mine\n" {
			t.Errorf("%s: %q", s.Command, out)
		}
	}
	if _, err := withWatchdog().Start(t.Context(), Spec{Command: "mytool", Dir: dir, Env: []string{"PATH=.:"}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a relative PATH was used: %v", err)
	}
}

func TestStartContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, err := withWatchdog().Start(ctx, shell(`echo up; read x; echo bye`))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	cancel() // bounds the starting only
	if _, err := io.WriteString(p.Stdin(), "\n"); err != nil {
		t.Error(err)
	}
	if out, _ := io.ReadAll(p.Stdout()); string(out) != "up\nbye\n" {
		t.Errorf("output %q", out)
	}
	eachLauncher(t, func(t *testing.T, l Launcher) {
		if _, err := l.Start(ctx, shell(`:`)); !errors.Is(err, context.Canceled) {
			t.Errorf("with an ended context: %v", err)
		}
	})
}

// A watchdog that isn't one is an error, and ended.
func TestWrongWatchdog(t *testing.T) {
	before := resources(t)
	for _, command := range []string{"/bin/false", "/bin/echo", "/no/such/file"} {
		_, err := Launcher{Watchdog: []string{command}}.Start(t.Context(), shell(`:`))
		if err == nil || !strings.Contains(err.Error(), "watchdog") {
			t.Errorf("%s: %v", command, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	l := Launcher{Watchdog: []string{"/bin/sh", "-c", "trap '' TERM INT; exec sleep 1000"}}
	if _, err := l.Start(ctx, shell(`:`)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a silent one: %v", err)
	}
	before.compare(t)
}

// usage is what a process may leave behind in us.
type usage struct{ files, children int }

func resources(t *testing.T) usage {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	procs, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	u := usage{files: len(files)}
	for _, p := range procs {
		if p.ppid == os.Getpid() {
			u.children++
		}
	}
	return u
}

func (u usage) compare(t *testing.T) {
	t.Helper()
	if now := resources(t); now != u {
		t.Errorf("left behind: %+v, before %+v", now, u)
	}
}
