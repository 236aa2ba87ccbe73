package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// child is a server in a process of its own: the test binary, started anew.
func child(mode string, in io.Reader, out io.Writer) int {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		m, err := mcp.Parse(lines.Bytes())
		if err != nil {
			return 9
		}
		var line string
		switch {
		case m.Method == mcp.MethodDiscover && mode == "modern":
			line = discovered
		case m.Method == mcp.MethodDiscover:
			fmt.Fprintln(os.Stderr, "unknown method", m.Method)
			return 3
		case m.Method == mcp.MethodInitialize:
			line = initialized
		case m.Method == "die":
			fmt.Fprintln(os.Stderr, "out of luck")
			return 4
		case m.IsRequest():
			line = discoverLine(`{"got":` + string(m.Params) + `}`)
		default:
			continue
		}
		fmt.Fprintln(out, strings.ReplaceAll(line, "ID", string(m.ID)))
	}
	return 0
}

// process is the least Transport over a real process.
type process struct {
	mode    string
	started int
}

type processConn struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
}

func (p *process) Connect(context.Context) (transport.Conn, error) {
	p.started++
	c := &processConn{cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), "USHER_CLIENT_TEST_SERVER="+p.mode)
	c.cmd.Stderr = &c.stderr
	in, err := c.cmd.StdinPipe()
	out, err2 := c.cmd.StdoutPipe()
	c.in, c.out = in, bufio.NewReader(out)
	return c, errors.Join(err, err2, c.cmd.Start())
}

func (c *processConn) Send(_ context.Context, m *mcp.Message) error {
	_, err := c.in.Write(append(m.AppendTo(nil), '\n'))
	return err
}

func (c *processConn) Receive(context.Context) (*mcp.Message, error) {
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		_ = c.cmd.Wait()
		return nil, err
	}
	return mcp.Parse(line)
}

func (c *processConn) Close() error { return ignoreClosed(c.in.Close()) }

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

func (c *processConn) Describe() transport.Description {
	if c.cmd.ProcessState == nil {
		return transport.Description{PID: c.cmd.Process.Pid}
	}
	return transport.Description{PID: c.cmd.Process.Pid, Exit: c.cmd.ProcessState.String(), Stderr: c.stderr.String()}
}

// B8 with real processes: one that knows the probe, and one that dies of it.
func TestProcesses(t *testing.T) {
	for mode, want := range map[string]struct {
		era     mcp.Era
		started int
		why     string
	}{
		"modern": {mcp.Modern, 1, "was answered"},
		"legacy": {mcp.Legacy, 2, "exit status 3; its last words: unknown method server/discover"},
	} {
		t.Run(mode, func(t *testing.T) {
			p := &process{mode: mode}
			s := connect(t, p, Options{Name: "x"})
			if i := s.Info(); i.Era != want.era || !strings.Contains(i.Why, want.why) || p.started != want.started {
				t.Errorf("%+v, %d processes", i, p.started)
			}
			m := callTool(t, s, `{"arguments":{"n":1.0}}`, nil)
			if got := mcp.Path(m.Result, "got", "arguments"); string(got) != `{"n":1.0}` {
				t.Errorf("the server got %s", got)
			}
			_, err := s.Handle(t.Context(), mcp.Request("1", "die", nil), nil)
			wantKind(t, err, fault.Restarted, "exit status 4", "out of luck")
		})
	}
}
