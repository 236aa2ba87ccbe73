package stdio_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/usher-mcp/usher/internal/sandbox"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/stdio"
	"github.com/usher-mcp/usher/transport/transporttest"

	"go.uber.org/goleak"
)

const (
	modeVar = "STDIO_TEST_MODE"
	sayVar  = "STDIO_TEST_SAY"
)

// TestMain makes the test binary a server, or a watchdog, where it was started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__watchdog" {
		os.Exit(sandbox.Watchdog(os.Args[2:]))
	}
	if mode := os.Getenv(modeVar); mode != "" {
		os.Exit(beServer(mode))
	}
	goleak.VerifyTestMain(m)
}

func beServer(mode string) int {
	lines := bufio.NewReader(os.Stdin)
	switch mode {
	case "echo":
	case "say": // something, before it serves
		fmt.Print(os.Getenv(sayVar))
	case "long": // answers the first request with 100 MB
		_, _ = lines.ReadString('\n')
		writeLong(os.Stdout)
	case "chatty":
		for range 10 << 10 {
			fmt.Fprintln(os.Stderr, strings.Repeat("e", 1023))
		}
	case "fail":
		fmt.Fprint(os.Stderr, "starting\n\x1b[31mAPI_KEY is not set\x1b[0m\n")
		return 3
	case "die":
		_, _ = lines.ReadString('\n')
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "deaf": // never reads
		untilTerm()
		return 0
	case "nibble": // reads a little, says so, and no more
		_, _ = os.Stdin.Read(make([]byte, 10))
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/test"}`)
		untilTerm()
		return 0
	case "bridge": // to an address
		return bridge(os.Getenv(sayVar))
	case "shut": // closes stdin and stays
		_ = os.Stdin.Close()
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/test"}`)
		untilTerm()
		return 0
	case "mute": // closes stdout and stays
		_ = os.Stdout.Close()
		untilTerm()
		return 0
	}
	if err := stdio.Serve(context.Background(), lines, os.Stdout, transporttest.Echo()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func untilTerm() {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	<-term
}

// writeLong puts the id last, as servers of the TypeScript SDK do.
func writeLong(w io.Writer) {
	part := []byte(strings.Repeat(`x`, 1<<20))
	_, _ = io.WriteString(w, `{"result":{"text":"`)
	for range 100 {
		_, _ = w.Write(part)
	}
	_, _ = io.WriteString(w, `","id":99},"jsonrpc":"2.0","id":7}`+"\n")
}

func options(mode string) stdio.Options {
	return stdio.Options{Command: "/proc/self/exe", Env: map[string]string{modeVar: mode}}
}

// connect starts a server and ends it with the test.
func connect(t *testing.T, o stdio.Options) transport.Conn {
	t.Helper()
	conn, err := stdio.New(o).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func saying(words string) stdio.Options {
	o := options("say")
	o.Env[sayVar] = words
	return o
}
