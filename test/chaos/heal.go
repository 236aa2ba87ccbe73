package chaos

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/usher-mcp/usher"
)

// healing is how long a server may take to work again once nobody breaks it any more.
const healing = 5 * time.Second

// heal calls each server until it answers. Only one that was given up for good needn't.
func (w *world) heal(c *callers) (problems []string) {
	s, err := w.host.Session(usher.SessionOptions{Client: "chaos"})
	if err != nil {
		return []string{"Session: " + err.Error()}
	}
	defer s.Close("done")
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i, server := range w.plan.Servers {
		wg.Go(func() {
			last := w.healOne(c, s, server, 1000+i)
			mu.Lock()
			defer mu.Unlock()
			if last != "" {
				problems = append(problems, fmt.Sprintf("%s (%s) doesn't heal: %s", server.Name, server.Kind, last))
			}
		})
	}
	wg.Wait()
	return problems
}

// healOne returns what the server failed with last, if it did.
func (w *world) healOne(c *callers, s *usher.Session, server ServerPlan, caller int) string {
	end, deadline := time.Now().Add(healing), time.Second
	if server.Name == healthy {
		deadline = unhurried
	}
	for n := 1; ; n++ {
		o := c.call(s, CallPlan{ID: callID(w.plan.Seed, caller, n), Server: server.Name, Tool: "write", Work: 1, Deadline: deadline})
		c.add(o)
		switch {
		case o.Kind == "" || w.state(server.Name) == "failed":
			return ""
		case time.Now().After(end):
			return fmt.Sprintf("it is %s, its process %s: %s", w.state(server.Name), w.process(server.Name), o.Text)
		}
		pause(context.Background(), 10*time.Millisecond)
	}
}

func (w *world) state(name string) string {
	for _, s := range w.host.Servers() {
		if s.Name == name {
			return s.State
		}
	}
	return ""
}

// process tells how the process of a server fares, as ps does.
func (w *world) process(name string) string {
	for _, s := range w.host.Servers() {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.PID)); s.Name == name && err == nil {
			_, rest, _ := strings.Cut(string(stat), ") ")
			return fmt.Sprintf("%d (%.1s)", s.PID, rest)
		}
	}
	return "unknown"
}
