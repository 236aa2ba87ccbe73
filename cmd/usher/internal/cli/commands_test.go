package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/usher-mcp/usher"
)

// exits CODE COMMAND…: runs a command that must end with this exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		got = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

type server struct {
	cmd    *exec.Cmd
	url    string
	stderr screen
}

// screen is what a server wrote to standard error until now.
type screen struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// told REGEXP: waits until the server has written a line that matches.
func told(ts *testscript.TestScript, neg bool, args []string) {
	want := regexp.MustCompile(args[0])
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); !want.MatchString(theServer(ts).stderr.String()); <-tick.C {
		if time.Now().After(deadline) {
			ts.Fatalf("%s is not in: %s", want, theServer(ts).stderr.String())
		}
	}
}

type serverKey struct{}

func theServer(ts *testscript.TestScript) *server { return ts.Value(serverKey{}).(*server) }

// running COMMAND…: starts `usher serve --json` with these arguments and waits until it listens; its addresses are $URL,
// $WS, $SSE and $GRPC.
func running(ts *testscript.TestScript, neg bool, args []string) {
	s := theServer(ts)
	s.cmd = exec.Command("usher", append([]string{"serve", "--json"}, args...)...)
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "usher")); err == nil {
			s.cmd.Path, s.cmd.Err = filepath.Join(dir, "usher"), nil
			break
		}
	}
	s.cmd.Dir, s.cmd.Stderr = ts.Getenv("WORK"), &s.stderr
	for _, name := range []string{"HOME", "PATH", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TMPDIR"} {
		s.cmd.Env = append(s.cmd.Env, name+"="+ts.Getenv(name))
	}
	out, err := s.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(s.cmd.Start())
	ts.Defer(func() { _ = s.cmd.Process.Kill() })
	first, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		_ = s.cmd.Wait()
		ts.Fatalf("usher serve ended: %s", s.stderr.String())
	}
	said := map[string]string{}
	ts.Check(json.Unmarshal(first, &said))
	s.url = said["url"]
	for key, url := range said {
		ts.Setenv(strings.ToUpper(key), url)
	}
	ts.Setenv("ADDRESS", strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), pathHTTP))
}

// post JSON HEADER=VALUE…: sends a message; the answer is in the file "answer", a session that it began in $SESSION. A
// process of its own sends it: who is connected, and what it starts, decides nothing from then on.
func post(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(ts.Exec("poster", append([]string{theServer(ts).url}, args...)...))
	id, body, _ := strings.Cut(ts.ReadFile("stdout"), "\n")
	if id != "" {
		ts.Setenv("SESSION", id)
	}
	ts.Check(os.WriteFile(ts.MkAbs("answer"), []byte(body), 0o600))
}

// poster URL JSON HEADER=VALUE… prints the session in a line, and then the answer.
func poster() {
	req, err := http.NewRequest(http.MethodPost, os.Args[1], strings.NewReader(os.Args[2]))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for _, header := range os.Args[3:] {
		name, value, _ := strings.Cut(header, "=")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer res.Body.Close()
	fmt.Println(res.Header.Get("Mcp-Session-Id"))
	_, _ = io.Copy(os.Stdout, res.Body)
}

// stop: ends the server by SIGTERM, keeps what it wrote to standard error in the file "screen", and wants exit code 0.
func stop(ts *testscript.TestScript, neg bool, args []string) {
	s := theServer(ts)
	ts.Check(s.cmd.Process.Signal(syscall.SIGTERM))
	err := s.cmd.Wait()
	ts.Check(os.WriteFile(ts.MkAbs("screen"), []byte(s.stderr.String()), 0o600))
	if err != nil {
		ts.Fatalf("usher serve ended with %v: %s", err, s.stderr.String())
	}
}

// kill: kills the server.
func kill(ts *testscript.TestScript, neg bool, args []string) {
	s := theServer(ts)
	ts.Check(s.cmd.Process.Kill())
	_ = s.cmd.Wait()
}

// expand FILE: puts variables of the script in place of $NAME.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

var (
	durations = regexp.MustCompile(` [0-9]+ ms`)
	steps     = regexp.MustCompile(` *[0-9]+\.[0-9] ms`) // in a column
	ports     = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)
)

// mask FILE: puts marks in place of what is different each time: durations, ports, the
// script's folder, the version.
func mask(ts *testscript.TestScript, neg bool, args []string) {
	text := strings.NewReplacer(ts.Getenv("WORK"), "WORK", usher.Version, "VERSION").Replace(ts.ReadFile(args[0]))
	text = steps.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat(" ", len(s)-4) + "N ms" })
	text = ports.ReplaceAllString(durations.ReplaceAllString(text, " N ms"), "127.0.0.1:PORT")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// mode FILE OCTAL: wants a file to have this mode.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	info, err := os.Lstat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := strconv.FormatUint(uint64(info.Mode().Perm()), 8); got != args[1] {
		ts.Fatalf("%s has mode %s", args[0], got)
	}
}

// flip DIR OLD NEW: changes bytes in the one journal file that has them.
func flip(ts *testscript.TestScript, neg bool, args []string) {
	files, err := filepath.Glob(filepath.Join(args[0], "*.jsonl"))
	ts.Check(err)
	for _, f := range files {
		b, err := os.ReadFile(f)
		ts.Check(err)
		if changed := bytes.Replace(b, []byte(args[1]), []byte(args[2]), 1); !bytes.Equal(b, changed) {
			ts.Check(os.Chmod(f, 0o600))
			ts.Check(os.WriteFile(f, changed, 0o600))
			ts.Check(os.Chmod(f, 0o400))
			return
		}
	}
	ts.Fatalf("no file in %s has %q", args[0], args[1])
}
