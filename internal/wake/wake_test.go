package wake

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine is one whose clocks and network do as the test says.
type machine struct {
	jump  atomic.Int64 // what the wall clock is ahead of the monotonic one
	mu    sync.Mutex
	names string

	says   chan struct{}
	closed chan struct{}
	deaf   error // the network says nothing
}

func newMachine() *machine {
	return &machine{says: make(chan struct{}), closed: make(chan struct{})}
}

func (m *machine) wall() time.Time { return time.Now().Add(time.Duration(m.jump.Load())) }

func (m *machine) sleep(d time.Duration) { m.jump.Add(int64(d)) }

func (m *machine) Wait() error {
	select {
	case <-m.says:
		return nil
	case <-m.closed:
		return errors.New("closed")
	}
}

func (m *machine) Close() error {
	close(m.closed)
	return nil
}

func (m *machine) snapshot() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.names
}

func (m *machine) change(names string) {
	m.mu.Lock()
	m.names = names
	m.mu.Unlock()
	m.says <- struct{}{}
}

func (m *machine) watch(t *testing.T, told func(uint64)) *Watch {
	w := New(t.Context(), Options{
		OnWake: told, Wall: m.wall, snapshot: m.snapshot,
		network: func() (network, error) { return m, m.deaf },
	})
	t.Cleanup(w.Close)
	return w
}

// C5: a sleep is counted once, whoever notices it, and by all who ask.
func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		var told []uint64
		w := m.watch(t, func(n uint64) { told = append(told, n) })
		for _, step := range []struct {
			sleep time.Duration
			want  uint64
		}{{0, 0}, {time.Hour, 1}, {0, 1}, {29 * time.Second, 1}, {31 * time.Second, 2}, {-time.Hour, 2}, {0, 2}, {31 * time.Second, 3}} {
			m.sleep(step.sleep)
			var asking sync.WaitGroup
			for range 4 { // servers
				asking.Go(func() {
					if got := w.Count(); got != step.want {
						t.Errorf("%v: counted %d, want %d", step.sleep, got, step.want)
					}
				})
			}
			asking.Wait()
			time.Sleep(2 * tick) // the clocks are compared; nothing may come of it
		}
		synctest.Wait()
		if len(told) != 3 || told[0] != 1 || told[2] != 3 {
			t.Errorf("told %v", told)
		}
	})
}

// Nobody asks: it is noticed within 5 s.
func TestSleepUnasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		told := make(chan uint64, 10)
		m.watch(t, func(n uint64) { told <- n })
		time.Sleep(12 * time.Second)
		m.sleep(8 * time.Hour)
		before := time.Now()
		if n := <-told; n != 1 || time.Since(before) > tick {
			t.Errorf("told %d after %v", n, time.Since(before))
		}
	})
}

// A wall clock that is slowly put right has not slept, however much it adds up to.
func TestSlew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		w := m.watch(t, nil)
		for range 1000 {
			m.sleep(time.Second)
			time.Sleep(tick)
			synctest.Wait()
			if n := w.Count(); n != 0 {
				t.Fatalf("counted %d", n)
			}
		}
	})
}

// C5: a change of the network is counted once, a second after its first word; noise isn't counted.
func TestNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		m.names = "eth0 a"
		told := make(chan uint64, 10)
		w := m.watch(t, func(n uint64) { told <- n })
		m.change("eth0 a") // announced again
		time.Sleep(time.Minute)
		before := time.Now()
		for _, step := range []string{"", "wlan0", "wlan0 b", "wlan0 b c"} {
			m.change(step)
			time.Sleep(100 * time.Millisecond)
		}
		if n := w.Count(); n != 0 {
			t.Errorf("counted %d before it was settled", n)
		}
		if n := <-told; n != 1 || time.Since(before) != settle || w.Count() != 1 {
			t.Errorf("told %d after %v, counted %d", n, time.Since(before), w.Count())
		}
		m.change("")
		m.change("wlan0 b c") // gone for less than a second
		time.Sleep(time.Minute)
		if n := w.Count(); n != 1 {
			t.Errorf("counted %d", n)
		}
	})
}

// A system that says nothing of its network, or stops to, still wakes.
func TestDeafNetwork(t *testing.T) {
	for _, end := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := newMachine()
			if !end {
				m.deaf = errors.New("no such protocol")
			}
			w := m.watch(t, nil)
			if end {
				m.closed <- struct{}{} // Wait fails
				synctest.Wait()
			}
			m.sleep(time.Hour)
			if n := w.Count(); n != 1 {
				t.Errorf("counted %d", n)
			}
		})
	}
}

// Its life is its context, too.
func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		ctx, cancel := context.WithCancel(t.Context())
		w := New(ctx, Options{Wall: m.wall, snapshot: m.snapshot, network: func() (network, error) { return m, nil }})
		cancel()
		synctest.Wait()
		<-m.closed
		w.Close()
		w.Close()
		m.sleep(time.Hour)
		if n := w.Count(); n != 1 { // whoever still asks gets an answer
			t.Errorf("counted %d", n)
		}
	})
}

// The real clocks don't jump under test, and asking them is cheap.
func TestRealClocks(t *testing.T) {
	w := New(t.Context(), Options{})
	defer w.Close()
	for range 1000 {
		if n := w.Count(); n != 0 {
			t.Fatalf("counted %d", n)
		}
	}
}

func BenchmarkCount(b *testing.B) {
	w := New(b.Context(), Options{})
	defer w.Close()
	b.ReportAllocs()
	for b.Loop() {
		w.Count()
	}
}
