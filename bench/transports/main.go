// Command transports prints what each transport costs: the median round trip of one call at a time, against a floor that
// sends the same bytes with nothing of usher: a raw pipe, net/http, the libraries for WebSocket and gRPC alone. Both
// take turns, and the median of seven rounds counts.
//
// The servers run in a process of their own. In the rows of the client end the server is that of the floor; in those of
// both ends it is usher's. The numbers are for reading. It fails only when it can't measure.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/usher-mcp/usher/bench/internal/turns"
)

func main() {
	var err error
	switch {
	case len(os.Args) < 2:
		err = run(context.Background())
	case os.Args[1] == "servers":
		err = serveAll()
	case os.Args[1] == "pipe-raw":
		err = answerLines(os.Stdin, os.Stdout)
	case os.Args[1] == "pipe-usher":
		err = usherPipe()
	default:
		err = fmt.Errorf("no part %q", os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "transports:", err)
		os.Exit(1)
	}
}

// trip is one round trip: a request of size bytes leaves, its answer is there when it returns.
type trip func() error

// way opens one end of a row.
type way func(ctx context.Context, w *world, size int) (trip, func(), error)

// pair is what is compared in one row.
type pair struct {
	name         string
	usher, floor way
}

func pairs() []pair {
	return []pair{
		{"stdio, client end", usherStdio("pipe-raw"), rawPipe},
		{"stdio, both ends", usherStdio("pipe-usher"), rawPipe},
		{"http json, client end", usherHTTP("/json"), rawHTTP("/json")},
		{"http events, client end", usherHTTP("/events"), rawHTTP("/events")},
		{"sse, client end", usherSSE("/raw-sse"), rawSSE},
		{"sse, both ends", usherSSE("/sse"), rawSSE},
		{"ws, client end", usherWS("/raw-ws"), rawWS},
		{"ws, both ends", usherWS("/ws"), rawWS},
		{"grpc, client end", usherGRPC(rawServer), rawGRPC},
		{"grpc, both ends", usherGRPC(usherServer), rawGRPC},
		{"local", usherLocal, directCall},
	}
}

// sizes of the arguments, in bytes, and how many calls make one measurement.
var sizes = []struct {
	name     string
	size, of int
}{{"100 B", 100, 1000}, {"64 KiB", 64 << 10, 200}}

func run(ctx context.Context) error {
	w, err := newWorld()
	if err != nil {
		return err
	}
	defer w.close()
	fmt.Printf("%-36s %12s %12s %10s\n", "round trip, p50", "usher", "floor", "")
	for _, s := range sizes {
		for _, p := range pairs() {
			if err := compare(ctx, w, p, s.name, s.size, s.of); err != nil {
				return fmt.Errorf("%s, %s: %w", p.name, s.name, err)
			}
		}
	}
	return nil
}

func compare(ctx context.Context, w *world, p pair, name string, size, of int) error {
	var measure [2]func() (float64, error)
	for i, open := range []way{p.usher, p.floor} {
		call, end, err := open(ctx, w, size)
		if err != nil {
			return err
		}
		defer end()
		if _, err := turns.Latency(call, of/4); err != nil { // pools fill
			return err
		}
		measure[i] = func() (float64, error) {
			d, err := turns.Latency(call, of)
			return float64(d), err
		}
	}
	a, b, ratio, err := turns.Interleave(measure[0], measure[1])
	if err != nil {
		return err
	}
	fmt.Printf("%-36s %12s %12s %8.2f ×\n", p.name+", "+name, shown(a), shown(b), ratio)
	return nil
}

func shown(nanoseconds float64) string {
	if nanoseconds < 1000 {
		return fmt.Sprintf("%.0f ns", nanoseconds)
	}
	return fmt.Sprintf("%.1f µs", nanoseconds/1000)
}
