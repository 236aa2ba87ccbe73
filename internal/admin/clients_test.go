package admin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/internal/ancestry"
	"github.com/usher-mcp/usher/internal/socket"
	"github.com/usher-mcp/usher/internal/store/sqlite"
)

const asClient = "ADMIN_TEST_CLIENT"

// beClient connects, says a word, and stays until its input ends.
func beClient(network, address string) {
	c, err := net.Dial(network, address)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Fprintln(c, "hello")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	os.Exit(0)
}

func openLedger(t *testing.T) *sqlite.Ledger {
	t.Helper()
	l, err := sqlite.OpenLedger(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// F5: whoever has connected is on record before what it says is read, over TCP and over a socket, and stays there when it
// has hung up.
func TestClientsOnRecord(t *testing.T) {
	ledger := openLedger(t)
	c, err := NewClients(t.Context(), ledger, func(text string) { t.Error(text) })
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "s")
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unix, err := socket.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []net.Listener{tcp, unix} {
		l = c.Listener(l)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), asClient+"="+l.Addr().Network()+" "+l.Addr().String())
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if said, err := bufio.NewReader(conn).ReadString('\n'); said != "hello\n" {
			t.Errorf("%q, %v", said, err)
		}
		_ = conn.Close()
		p, err := ancestry.Of(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(os.Args[0])
		want := ancestry.Kin{Process: p, Name: name[:min(len(name), 15)]}
		all, err := KinOf(ledger)(t.Context())
		if err != nil || all[len(all)-1] != want {
			t.Errorf("%+v, %v; want %+v", all, err, want)
		}
		_ = in.Close()
		_ = cmd.Wait()
		_ = l.Close()
	}
	me, err := ancestry.Self()
	if err != nil {
		t.Fatal(err)
	}
	all, err := KinOf(ledger)(t.Context())
	if err != nil || len(all) != 3 || !all[0].Usher || all[0].Process != me || all[1].Usher {
		t.Errorf("%+v, %v", all, err)
	}
}

// Who starts usher over a pipe is its client.
func TestStdioOnRecord(t *testing.T) {
	ledger := openLedger(t)
	c, err := NewClients(t.Context(), ledger, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Stdio(t.Context(), os.Stdin); err != nil {
		t.Fatal(err)
	}
	all, err := KinOf(ledger)(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	if up, err := ancestry.Descends(os.Getpid(), all[1].Process); !up || err != nil || all[1].Usher {
		t.Errorf("%+v, %v", all[1], err)
	}
}

// Usher isn't a client of its own: an entry with its own address would list its tools without end.
func TestItself(t *testing.T) {
	var said notices
	c, err := NewClients(t.Context(), openLedger(t), said.note)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = c.Listener(l)
	defer l.Close()
	for range 2 {
		peer, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer peer.Close()
		fmt.Fprintln(peer, "hello")
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if n, err := conn.Read(make([]byte, 9)); n != 0 || !errors.Is(err, errItself) {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
	if len(said.all) != 1 || !said.has("leads to usher's own address") {
		t.Errorf("told: %v", said.all)
	}
}

// broken is a ledger that takes nothing more.
type broken struct{ *sqlite.Ledger }

func (broken) AddClient(context.Context, sqlite.Client, func(sqlite.Client) bool) error {
	return errors.New("the disk is full")
}

// A client that can't be put on record isn't heard.
func TestUnrecorded(t *testing.T) {
	if _, err := NewClients(t.Context(), broken{}, nil); err == nil {
		t.Error("an usher that isn't on record")
	}
	c := &Clients{ledger: broken{}, known: map[ancestry.Process]bool{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = c.Listener(l)
	defer l.Close()
	peer, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	fmt.Fprintln(peer, "hello")
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if n, err := conn.Read(make([]byte, 9)); n != 0 || err == nil || !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("%d bytes, %v", n, err)
	}
}
