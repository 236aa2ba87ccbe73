// Command puppet is the other programs of these tests: an MCP server that writes down what reached it, and an agent that a
// test leads step by step. Both may start other programs, which is how a test has one of their children try to decide.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "agent" {
		agent()
		return
	}
	server(os.Args[1:])
}

// ran is how a program that was started has ended.
type ran struct {
	Code int    `json:"code"`
	Out  string `json:"out"`
}

// The ways to start a program.
const (
	asChild   = "child"
	behind    = "shell"  // with a shell in between
	apart     = "setsid" // in a session of its own
	forgotten = "orphan" // whose parent has ended
)

// run starts a program and waits for its end.
func run(how string, argv []string) ran {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	line := strings.Join(quoted, " ")
	switch how {
	case behind:
		argv = []string{"sh", "-c", "sh -c \"$0\"; exit $?", line}
	case forgotten: // it starts once its parent is gone; what it writes keeps the pipe open until then
		argv = []string{"sh", "-c", "(while kill -0 $$ 2>/dev/null; do :; done; " + line + "; echo \"code $?\") & exit 0"}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Stdin = &out, &out, strings.NewReader("secret\n")
	if how == apart {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	err := cmd.Run()
	code := cmd.ProcessState.ExitCode()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return ran{-1, err.Error()}
	}
	if how == forgotten {
		at := strings.LastIndex(out.String(), "code ")
		if at < 0 {
			return ran{-1, out.String()}
		}
		_, _ = fmt.Sscanf(out.String()[at:], "code %d", &code)
	}
	return ran{code, out.String()}
}
