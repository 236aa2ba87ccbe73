package transporttest

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// pair opens a connection with this fault.
func pair(t *testing.T, f *FaultNet, fault Fault) (client, server net.Conn) {
	t.Helper()
	f.Plan(func(int) Fault { return fault })
	accepted := make(chan net.Conn)
	go func() {
		c, err := f.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	client, err := f.Dial(t.Context(), "tcp", "x")
	if err != nil {
		t.Fatal(err)
	}
	server = <-accepted
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return client, server
}

// What a fault does to what both ends read and write.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault Fault
		reads string // by the client
		end   error
		after time.Duration
	}{
		"none":  {Fault{}, "hello, world", io.EOF, 0}, // the server closes it
		"cut":   {Fault{Down: 5}, "hello", io.EOF, 0},
		"reset": {Fault{Down: 5, End: Reset}, "", syscall.ECONNRESET, 0},
		"hang":  {Fault{Down: 5, End: Hang, Silence: time.Minute}, "", syscall.ECONNRESET, time.Minute},
		"up":    {Fault{Up: 3}, "", io.EOF, 0},
		"delay": {Fault{Delay: time.Second}, "hello, world", io.EOF, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := pair(t, NewFaultNet(), c.fault)
				began := time.Now()
				go func() {
					if b := make([]byte, 10); c.fault.Up > 0 {
						if n, err := io.ReadFull(server, b); n != 3 || err != io.ErrUnexpectedEOF {
							t.Errorf("the server read %d bytes: %v", n, err)
						}
					}
					for _, part := range []string{"hello", ", world"} {
						_, _ = io.WriteString(server, part)
					}
					if c.fault.End != Hang {
						_ = server.Close()
					}
				}()
				if c.fault.Up > 0 {
					if n, err := io.WriteString(client, "request"); n != 3 || !errors.Is(err, syscall.ECONNRESET) {
						t.Errorf("the client wrote %d bytes: %v", n, err)
					}
				}
				synctest.Wait()
				got, err := io.ReadAll(client)
				if err == nil {
					err = io.EOF
				}
				if string(got) != c.reads || !errors.Is(err, c.end) || time.Since(began) < c.after {
					t.Errorf("read %q, %v, after %v", got, err, time.Since(began))
				}
			})
		})
	}
}

// A connection that hangs tells neither end of the other, and takes in no more than fits into its buffers.
func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFaultNet()
		client, server := pair(t, f, Fault{})
		f.Break(Hang)
		_ = client.SetDeadline(time.Now().Add(time.Hour))
		n, err := io.WriteString(client, strings.Repeat("x", 2*faultRoom))
		if n != faultRoom || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("wrote %d bytes: %v", n, err)
		}
		_ = client.Close()
		_ = server.SetReadDeadline(time.Now().Add(time.Hour))
		if n, err := server.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read %d bytes: %v", n, err)
		}
		if f.Ended() != 1 {
			t.Error(f.Report())
		}
	})
}

// A deadline ends a read that waits, and can be taken back; Close ends it for good.
func TestFaultConnDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := pair(t, NewFaultNet(), Fault{})
		reads := make(chan error)
		read := func() { _, err := client.Read(make([]byte, 1)); reads <- err }
		go read()
		synctest.Wait()
		_ = client.SetReadDeadline(time.Unix(1, 0))
		if err := <-reads; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		_ = client.SetReadDeadline(time.Time{})
		go read()
		_, _ = server.Write([]byte("x"))
		if err := <-reads; err != nil {
			t.Error(err)
		}
		go read()
		synctest.Wait()
		_ = client.Close()
		if err := <-reads; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		if _, err := server.Write([]byte("x")); !errors.Is(err, syscall.ECONNRESET) {
			t.Error(err)
		}
	})
}

func TestRefusal(t *testing.T) {
	f := NewFaultNet()
	f.Plan(func(int) Fault { return Fault{Refuse: true} })
	if _, err := f.Dial(t.Context(), "tcp", "x"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Error(err)
	}
	_ = f.Close()
	f.Plan(func(int) Fault { return Fault{} })
	if _, err := f.Dial(t.Context(), "tcp", "x"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Error(err)
	}
	if _, err := f.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// The same seed makes the same plan, and every kind of fault is in it.
func TestFaultsPlan(t *testing.T) {
	one, same, other := Faults(1, 5000), Faults(1, 5000), Faults(2, 5000)
	kinds, differ := map[string]bool{}, false
	for n := range 200 {
		f := one(n)
		if f != same(n) {
			t.Fatalf("connection %d has two plans", n)
		}
		differ = differ || f != other(n)
		if f.Up > 5000 || f.Down > 5000 {
			t.Errorf("%+v", f)
		}
		switch {
		case f.Refuse:
			kinds["refuse"] = true
		case f.Up > 0 || f.Down > 0:
			kinds[f.End.String()] = true
		default:
			kinds["none"] = true
		}
	}
	if len(kinds) != 5 || !differ {
		t.Errorf("kinds %v, differ %v", kinds, differ)
	}
}
