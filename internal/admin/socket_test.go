package admin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/usher-mcp/usher/internal/socket"
)

// Two ushers on one data folder: the second one hears of the first, which goes on. Whatever the length of the path.
func TestTwoDaemons(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), strings.Repeat("x", 120))} {
		o := Options{Host: &desk{config: parsed(t, `{}`)}, DataDir: dir}
		c := open(t, o)
		if _, err := Open(o); !errors.Is(err, ErrRunning) {
			t.Errorf("the second one: %v", err)
		}
		if _, err := c.Status(t.Context()); err != nil {
			t.Error(err)
		}
		info, err := os.Lstat(SocketPath(dir))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Error(info, err)
		}
	}
}

// What a killed usher leaves behind is replaced.
func TestStaleSocket(t *testing.T) {
	dir := t.TempDir()
	path := SocketPath(dir)
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), dir); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("without a socket: %v", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = l.Close()
	if _, err := Dial(t.Context(), dir); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("a stale socket: %v", err)
	}
	if _, err := open(t, Options{Host: &desk{config: parsed(t, `{}`)}, DataDir: dir}).Status(t.Context()); err != nil {
		t.Error(err)
	}
}

// Both ends refuse a folder in which others may have put a socket, and say what to do.
func TestFolder(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(dir string) error
		hint    string
	}{
		"others get in": {func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o750)) }, "chmod 700 "},
		"a link":        {func(dir string) error { return os.Symlink(t.TempDir(), dir) }, "Remove it"},
		"a file":        {func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, ""},
	} {
		dir := t.TempDir()
		if err := c.prepare(filepath.Join(dir, "run")); err != nil {
			t.Fatal(err)
		}
		_, opened := Open(Options{DataDir: dir})
		_, dialed := Dial(t.Context(), dir)
		for _, err := range []error{opened, dialed} {
			if e, ok := errors.AsType[*SocketError](err); !ok || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	dir := "/" // root's
	if os.Geteuid() == 0 {
		dir = t.TempDir()
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	if e, ok := errors.AsType[*SocketError](checkFolder(dir)); !ok || !strings.Contains(e.Hint, "Run it as that user") {
		t.Errorf("of another: %v", e)
	}
}

// stranger runs as another user: it connects and tells what it got, or listens.
func stranger(path string) {
	if strings.HasPrefix(path, "listen:") {
		l, err := net.Listen("unix", strings.TrimPrefix(path, "listen:"))
		fmt.Println(os.Geteuid(), err)
		if err == nil {
			_, _ = l.Accept()
			_, _ = io.Copy(io.Discard, os.Stdin)
		}
		os.Exit(0)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		fmt.Println(err)
		os.Exit(0)
	}
	_, _ = io.WriteString(c, "GET /v1/servers HTTP/1.1\r\nHost: usher\r\n\r\n")
	b, err := io.ReadAll(c)
	fmt.Printf("%d %d bytes %v", os.Geteuid(), len(b), err)
	os.Exit(0)
}

// asNobody makes this program run as another user, from a folder that such a one can reach. It takes root.
func asNobody(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(public(t), "stranger")
	if err := os.WriteFile(exe, self, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = []string{asStranger + "=" + path}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	return cmd
}

// public is a folder for everybody.
func public(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "usher-admin")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Another user is refused by the kernel's word, also where the files would let it in, and this is told.
func TestStranger(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can become another user: nothing is shown here")
		return
	}
	dir, told := public(t), make(chan string, 1)
	path := filepath.Join(dir, "s")
	l, err := socket.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	d := &desk{config: parsed(t, `{}`)}
	s := serve(Options{Host: d, limits: defaultLimits()}, newGate(l, 1, func(uid int) { told <- fmt.Sprint(uid) }))
	defer s.Close()
	out, err := asNobody(t, path).CombinedOutput()
	if err != nil || !bytes.HasPrefix(out, []byte("65534 0 bytes")) {
		t.Errorf("%s %v", out, err)
	}
	if uid := <-told; uid != "65534" {
		t.Errorf("told of %s", uid)
	}
	c, err := net.Dial("unix", path) // its slot is free again
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := exchange(t, c, "GET /v1/servers HTTP/1.1\r\nHost: usher\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("this user: %q", got)
	}
}

// A socket of another user isn't talked to, though it is in our folder.
func TestStrangerListens(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can become another user: nothing is shown here")
		return
	}
	dir := public(t)
	run := filepath.Dir(SocketPath(dir))
	if err := errors.Join(os.Mkdir(run, 0o700), os.Chmod(run, 0o777)); err != nil {
		t.Fatal(err)
	}
	cmd := asNobody(t, "listen:"+SocketPath(dir))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = cmd.Wait() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "65534 <nil>\n" {
		t.Fatal(line, err)
	}
	if err := os.Chmod(run, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "another user (uid 65534)") {
		t.Errorf("got %v", err)
	}
}

// exchange is what comes back for some bytes, up to the end of the first line.
func exchange(t *testing.T, c net.Conn, text string) string {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	go func() { _, _ = io.WriteString(c, text) }() // it may not be read to the end
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return line
}

// Bounds: what one client may send, and how long it may take.
func TestBounds(t *testing.T) {
	d := &desk{config: parsed(t, `{}`)}
	o := Options{Host: d, DataDir: t.TempDir(), limits: limits{header: 50 * time.Millisecond, body: 100 * time.Millisecond, idle: time.Second, write: time.Minute, conns: 1}}
	open(t, o)
	post := "POST /v1/servers/add HTTP/1.1\r\nHost: usher\r\nContent-Length: %d\r\n\r\n%s"
	long := strings.Repeat("x", maxBody)
	for name, c := range map[string]struct{ send, want string }{
		"a header that doesn't end": {"GET /v1/servers HTTP/1.1\r\nHost:", "EOF"},
		"a large header":            {"GET /v1/servers HTTP/1.1\r\nHost: usher\r\nX: " + long + "\r\n\r\n", "HTTP/1.1 431"},
		"a large body":              {fmt.Sprintf(post, maxBody+12, `{"name":"`+long+`"}`), "HTTP/1.1 413"},
		"a body that doesn't come":  {fmt.Sprintf(post, 100, `{"name"`), "HTTP/1.1 400"},
		"an unknown field":          {fmt.Sprintf(post, 23, `{"name":"a","force":12}`), "HTTP/1.1 400"},
		"a name twice":              {fmt.Sprintf(post, 23, `{"name":"a","name":"b"}`), "HTTP/1.1 400"},
		"no entry":                  {fmt.Sprintf(post, 12, `{"name":"a"}`), "HTTP/1.1 400"},
		"no name":                   {fmt.Sprintf(post, 2, `{}`), "HTTP/1.1 400"},
		"nonsense":                  {"DELETE /v2 HTTP/1.1\r\nHost: usher\r\n\r\n", "HTTP/1.1 404"},
	} {
		conn, err := socket.Dial(context.Background(), SocketPath(o.DataDir)) // it waits for the one before it to leave
		if err != nil {
			t.Fatal(err)
		}
		if got := exchange(t, conn, c.send); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
		_ = conn.Close()
	}
	if asked := d.were(); len(asked) > 0 {
		t.Errorf("it did %q", asked)
	}
}

// A program that answers something else is not understood, and one that doesn't answer isn't waited for without end.
func TestOddDaemon(t *testing.T) {
	dir := t.TempDir()
	if err := makeFolder(filepath.Dir(SocketPath(dir))); err != nil {
		t.Fatal(err)
	}
	l, err := socket.Listen(SocketPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan string, 3)
	answers <- "502 <html>"
	answers <- "200 <html>"
	answers <- ""
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch a := <-answers; {
		case a == "":
			<-r.Context().Done()
		case strings.HasPrefix(a, "502"):
			http.Error(w, a, http.StatusBadGateway)
		default:
			_, _ = io.WriteString(w, a)
		}
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	defer func() { _ = srv.Close(); <-done }()
	c, err := Dial(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		if _, err := c.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "can't be understood") {
			t.Errorf("got %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Status(ctx); err == nil || !strings.Contains(err.Error(), "doesn't answer") {
		t.Errorf("got %v", err)
	}
}
