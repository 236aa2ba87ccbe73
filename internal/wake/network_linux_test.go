package wake

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const inNamespace = "WAKE_TEST_IN_NAMESPACE"

// The kernel's own word: in a network namespace of its own, the test binary is run once more and changes addresses. There
// is only lo there, so it has to count as a link that matters.
func TestKernel(t *testing.T) {
	if os.Getenv(inNamespace) != "" {
		changeAddresses(t)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKernel$", "-test.v")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if err != nil && strings.Contains(err.Error(), "operation not permitted") {
		t.Logf("this system lets no test have a network of its own (%v); only the socket is tried", err)
		n, err := openNetwork()
		if err != nil {
			t.Fatal(err)
		}
		_ = n.Close()
		return
	}
	if err != nil || !strings.Contains(string(out), "PASS: TestKernel") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func changeAddresses(t *testing.T) {
	told := make(chan uint64, 10)
	began := time.Now()
	seen := New(t.Context(), Options{
		OnWake:   func(n uint64) { told <- n },
		snapshot: func() string { return addresses(true) },
	})
	defer seen.Close()
	blind := New(t.Context(), Options{}) // as usual: lo is noise
	defer blind.Close()
	lo(t, unix.SIOCSIFFLAGS, func(r *unix.Ifreq) { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING) })
	if n := <-told; n != 1 || time.Since(began) < settle {
		t.Errorf("lo went up: told %d after %v", n, time.Since(began))
	}
	lo(t, unix.SIOCSIFADDR, func(r *unix.Ifreq) {
		if err := r.SetInet4Addr(net.IPv4(10, 1, 2, 3).To4()); err != nil {
			t.Fatal(err)
		}
	})
	if n := <-told; n != 2 {
		t.Errorf("an address came: told %d", n)
	}
	if !strings.Contains(addresses(true), "10.1.2.3") {
		t.Errorf("the addresses are %q", addresses(true))
	}
	lo(t, unix.SIOCSIFFLAGS, func(r *unix.Ifreq) { r.SetUint16(0) })
	if n := <-told; n != 3 {
		t.Errorf("lo went down: told %d", n)
	}
	if n := blind.Count(); n != 0 {
		t.Errorf("lo was counted %d times", n)
	}
}

// lo changes the loopback interface.
func lo(t *testing.T, what uint, set func(*unix.Ifreq)) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	set(r)
	if err := unix.IoctlIfreq(fd, what, r); err != nil {
		t.Fatal(err)
	}
}
