package main

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"time"

	"github.com/usher-mcp/usher/bench/internal/turns"
)

// route is one way through the gateway and the floor that it is compared with.
type route struct {
	name, tool string
	floor      func(*world) string
	kilobytes  float64 // budget of allocations for a call
}

var routes = []route{
	{"HTTP → stdio", "mcp__stdio__echo", func(w *world) string { return w.floorStdio }, 16},
	{"HTTP → HTTP", "mcp__http__echo", func(w *world) string { return w.floorHTTP }, 24},
}

// gatewayLatency is row 1 of the budgets: the median of one session's calls, with policy, guard and the log waited for.
func gatewayLatency(w *world) error {
	for _, r := range routes {
		usher, err := dial(w.gateway, r.tool)
		if err != nil {
			return err
		}
		floor, err := dial(r.floor(w), "echo")
		if err != nil {
			return err
		}
		measure := func(s *session) func() (float64, error) {
			return func() (float64, error) {
				d, err := turns.Latency(s.roundTrip, 1500)
				return float64(d), err
			}
		}
		a, b, ratio, err := turns.Interleave(measure(usher), measure(floor))
		if err != nil {
			return err
		}
		row("gateway "+r.name+", 1 session, p50", us(a), us(b), fmt.Sprintf("%.2f ×", ratio), "≤ 1.2 ×")
	}
	return nil
}

// gatewayThroughput is the rest of row 1: calls a second of many sessions at once.
func gatewayThroughput(w *world) error {
	for _, r := range routes {
		for _, n := range []int{8, 32} {
			usher, err := dialMany(w.gateway, r.tool, n)
			if err != nil {
				return err
			}
			floor, err := dialMany(r.floor(w), "echo", n)
			if err != nil {
				return err
			}
			measure := func(all []*session) func() (float64, error) {
				return func() (float64, error) { return throughput(all, 500*time.Millisecond) }
			}
			a, b, ratio, err := turns.Interleave(measure(usher), measure(floor))
			if err != nil {
				return err
			}
			row(fmt.Sprintf("gateway %s, %d sessions, calls/s", r.name, n), perSecond(a), perSecond(b), fmt.Sprintf("%.2f ×", ratio), "≥ 0.75 ×")
		}
	}
	return nil
}

func dialMany(address, tool string, n int) ([]*session, error) {
	var all []*session
	for range n {
		s, err := dial(address, tool)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// allocations counts what the gateway allocates for a call when it runs in this process; the client allocates nothing.
func allocations(w *world) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h, err := openHost(ctx, w.dir)
	if err != nil {
		return err
	}
	defer h.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := gatewayServer(h)
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	for _, r := range routes {
		s, err := dial(l.Addr().String(), r.tool)
		if err != nil {
			return err
		}
		const n = 2000
		if _, err := turns.Latency(s.roundTrip, n); err != nil { // pools fill
			return err
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := turns.Latency(s.roundTrip, n); err != nil {
			return err
		}
		runtime.ReadMemStats(&after)
		kb := float64(after.TotalAlloc-before.TotalAlloc) / n / 1024
		row("gateway "+r.name+", allocated for a call", fmt.Sprintf("%.1f KB", kb), "",
			fmt.Sprintf("%d allocs", (after.Mallocs-before.Mallocs)/n), fmt.Sprintf("≤ %.0f KB", r.kilobytes))
	}
	return nil
}

func us(nanoseconds float64) string { return fmt.Sprintf("%.1f µs", nanoseconds/1000) }

func perSecond(v float64) string { return fmt.Sprintf("%.0f/s", v) }
