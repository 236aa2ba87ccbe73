// Command driver uses Usher as a library until it is killed. It makes calls from several goroutines and prints the id
// of each call as soon as it is answered: what was printed was answered.
//
// It is built with the tag killpoints and dies where USHER_KILL_AT says.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/standard"
)

var (
	config = flag.String("config", "", "configuration file")
	data   = flag.String("data", "", "data folder")
	dir    = flag.String("dir", "", "working folder")
	calls  = flag.Int("calls", 1000, "how many calls to make")
	rotate = flag.Int64("rotate", 0, "bytes of a journal file")
)

const callers = 8

func main() {
	if len(os.Args) > 1 && os.Args[1] == "__watchdog" {
		os.Exit(standard.Watchdog())
	}
	flag.Parse()
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "driver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	h, err := standard.Open(ctx, standard.Options{
		ConfigPath: *config, DataDir: *data, Dir: *dir, RotateBytes: *rotate, Watchdog: []string{self, "__watchdog"},
	})
	if err != nil {
		return err
	}
	s, err := h.Session(usher.SessionOptions{Client: "driver"})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	var next atomic.Int64
	for range callers {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(*calls); n = next.Add(1) {
				call(ctx, s, n)
			}
		})
	}
	wg.Wait()
	s.Close("done")
	return h.Close()
}

// call mixes writes and reads. Each has an id of its own, which the server's journal and ours both hold.
func call(ctx context.Context, s *usher.Session, n int64) {
	tool := [...]string{"mcp.test.write", "mcp.test.write", "mcp.test.echo", "local.list_files"}[n%4]
	args := fmt.Sprintf(`{"id":"c%d","text":"call %d"}`, n, n)
	if tool == "local.list_files" {
		args = `{"path":"."}`
	}
	if _, err := s.Call(ctx, tool, []byte(args)); err != nil {
		fmt.Fprintln(os.Stderr, "driver:", err)
		os.Exit(1)
	}
	if tool != "local.list_files" {
		fmt.Printf("c%d\n", n)
	}
}
