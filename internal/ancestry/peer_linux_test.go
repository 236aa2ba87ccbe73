package ancestry

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The process at the other end of a connection within this machine is found, whatever kind of address it used.
func TestPeerOfTCP(t *testing.T) {
	var f Finder
	for _, c := range []struct{ network, listen, dial string }{
		{"tcp4", "127.0.0.1:0", "127.0.0.1:"},
		{"tcp6", "[::1]:0", "[::1]:"},
		{"tcp", ":0", "127.0.0.1:"}, // it is listened on with IPv6
		{"tcp4", "127.0.0.1:0", "[::ffff:127.0.0.1]:"},
	} {
		l, err := net.Listen(c.network, c.listen)
		if err != nil {
			t.Fatal(err)
		}
		port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
		client := run(t, os.Args[0], dialArg, c.dial+port)
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time it is known
			got, err := f.PeerOfTCP(conn)
			if err != nil || len(got) != 1 || got[0] != of(t, client.Process.Pid) {
				t.Errorf("%+v: %v, %v", c, got, err)
			}
		}
		_ = conn.Close()
		_ = l.Close()
	}
	if len(f.known) != 4 {
		t.Errorf("remembered: %v", f.known)
	}
}

// An IPv6 socket that is connected to an IPv4 address stands in the other table.
func TestMapped(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fd, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	to := &syscall.SockaddrInet6{Port: l.Addr().(*net.TCPAddr).Port}
	copy(to.Addr[:], net.ParseIP("127.0.0.1").To16())
	if err := syscall.Connect(fd, to); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, err := new(Finder).PeerOfTCP(conn); err != nil || len(got) != 1 || got[0].PID != os.Getpid() {
		t.Errorf("%v, %v", got, err)
	}
}

// A peer that has closed its end, or that is no TCP, is nobody.
func TestNoPeer(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = c.Close()
	if got, err := new(Finder).PeerOfTCP(conn); !errors.Is(err, ErrNoPeer) {
		t.Errorf("%v, %v", got, err)
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if got, err := new(Finder).PeerOfTCP(a); err == nil {
		t.Error(got)
	}
}

// Who starts usher stdio through a shell is its client, over a pipe and over a socket; the shell in between isn't.
func TestBehind(t *testing.T) {
	const wrapped = `sh -c '"$0" ` + behindArg + `; true' "$0"; true`
	me := strconv.Itoa(os.Getpid()) + " <nil>\n"
	p := run(t, "sh", "-c", wrapped, os.Args[0])
	if got, err := p.out.ReadString('\n'); got != me {
		t.Errorf("a pipe: %q, %v; want %q", got, err, me)
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	defer theirs.Close()
	cmd := exec.Command("sh", "-c", wrapped, os.Args[0])
	cmd.Stdin = theirs
	if got, err := cmd.Output(); string(got) != me {
		t.Errorf("a socket: %q, %v; want %q", got, err, me)
	}
	cmd = exec.Command("sh", "-c", `echo $$; "$0" `+behindArg+`; true`, os.Args[0]) // its input is /dev/null
	got, err := cmd.Output()
	if shell, found, _ := strings.Cut(string(got), "\n"); found != shell+" <nil>\n" {
		t.Errorf("no other end: %q, %v", got, err)
	}
}

// BenchmarkPeerOfTCP is a client that was seen before.
func BenchmarkPeerOfTCP(b *testing.B) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	conn, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			if _, err := new(Finder).PeerOfTCP(conn); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("known", func(b *testing.B) {
		var f Finder
		for b.Loop() {
			if _, err := f.PeerOfTCP(conn); err != nil {
				b.Fatal(err)
			}
		}
	})
}
