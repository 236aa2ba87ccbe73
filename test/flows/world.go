package flows

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/standard"
)

type object = map[string]any

// World is one person's machine: a folder with a private file, a host as the usher command opens it, and servers for mail,
// notes, the web and the network, which are processes of their own.
type World struct {
	Host   *standard.Host
	Person *Person
	Secret string // what is private: in mail 1 and in notes.txt

	dir, program string
	config       object
	shapes       [][]byte
	read         map[string]int64 // of each sink's journal, what was looked at
}

// Options say what a World is like.
type Options struct {
	Server string // the program of test/flows/server
	Dir    string // an empty folder
	Flows  any    // what the configuration says of flows; nil: nothing
	Allow  bool   // a rule allows everything
	Bare   bool   // the servers say nothing about their tools
}

// sinks are the servers that reach others.
var sinks = []string{"web", "net"}

// Open makes a World and waits until its servers are there.
func Open(ctx context.Context, o Options) (*World, error) {
	w := &World{
		Person: new(Person), Secret: "pin-" + rand.Text() + "-end", dir: o.Dir, program: o.Server, read: map[string]int64{},
	}
	w.shapes = shapes(w.Secret)
	servers := object{}
	for _, role := range []string{"mail", "notes", "web", "net"} {
		args := []string{"-role", role, "-journal", w.journal(role), "-dir", w.folder(role)}
		if o.Bare {
			args = append(args, "-bare")
		}
		servers[role] = object{"command": o.Server, "args": args}
		if err := os.MkdirAll(w.folder(role), 0o700); err != nil {
			return nil, err
		}
	}
	w.config = object{"mcpServers": servers}
	if o.Flows != nil {
		w.config["flows"] = o.Flows
	}
	if o.Allow {
		w.config["permissions"] = object{"allow": []string{"*"}}
	}
	if err := w.furnish(); err != nil {
		return nil, err
	}
	return w, w.start(ctx)
}

func (w *World) journal(role string) string { return filepath.Join(w.dir, role+".journal") }
func (w *World) folder(role string) string  { return filepath.Join(w.dir, role) }

// furnish puts the private data where it is read.
func (w *World) furnish() error {
	config, err := json.Marshal(w.config)
	if err != nil {
		return err
	}
	mail := Text{Parts: []string{"From: bank\nYour " + w.Secret + " is secret."}}
	return errors.Join(
		os.WriteFile(filepath.Join(w.dir, "mcp.config.json"), config, 0o600),
		os.MkdirAll(w.folder("work"), 0o700),
		os.WriteFile(filepath.Join(w.folder("work"), "notes.txt"), []byte("The code is "+w.Secret+"."), 0o600),
		w.Put("mail", "list", Text{Parts: []string{"1: bank"}}),
		w.Put("mail", "1", mail),
		w.Put("mail", "2", Text{Parts: []string{"From: Ann\nLunch at noon?"}}),
	)
}

// Put makes a text what a server answers to who reads under the key.
func (w *World) Put(role, key string, t Text) error {
	result, err := t.result()
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(key)) // as the server has it
	return os.WriteFile(filepath.Join(w.folder(role), hex.EncodeToString(sum[:8])+".json"), result, 0o600)
}

func (w *World) start(ctx context.Context) (err error) {
	w.Host, err = standard.Open(ctx, standard.Options{
		ConfigPath: filepath.Join(w.dir, "mcp.config.json"), DataDir: filepath.Join(w.dir, "data"), Dir: w.folder("work"),
		Asker: w.Person,
	})
	if err != nil {
		return err
	}
	if len(w.Host.Problems) > 0 {
		return &w.Host.Problems[0]
	}
	w.Host.Ready(ctx)
	return nil
}

// Restart ends the host with all its servers and starts it anew on what it left behind.
func (w *World) Restart(ctx context.Context) error {
	return errors.Join(w.Host.Close(), w.start(ctx))
}

// Leaked reports which sinks something private has reached since it was last asked, in whatever shape.
func (w *World) Leaked() (where []string, err error) {
	for _, role := range sinks {
		b, err := os.ReadFile(w.journal(role))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if leaks(b[w.read[role]:], w.shapes) {
			where = append(where, role)
		}
		w.read[role] = int64(len(b))
	}
	return where, nil
}

// Person answers questions: yes, but to a flow only if told so. All are kept.
type Person struct {
	mu        sync.Mutex
	asked     []permission.Question
	flows     bool             // the answer to flows
	scope     permission.Scope // of a yes
	forbidden bool             // the answer to all else
}

var _ permission.Asker = (*Person)(nil)

// Ask answers at once.
func (p *Person) Ask(_ context.Context, q permission.Question) (permission.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q.Args = slices.Clone(q.Args)
	p.asked = append(p.asked, q)
	a := permission.Answer{Allow: !p.forbidden, Scope: p.scope, Via: "callback"}
	if q.Flow != "" {
		a.Allow, a.Scope = p.flows, permission.Once
	}
	return a, nil
}

// Take returns what was asked since it was last called.
func (p *Person) Take() []permission.Question {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := p.asked
	p.asked = nil
	return asked
}

func flowsOf(asked []permission.Question) (n int) {
	for _, q := range asked {
		if q.Flow != "" {
			n++
		}
	}
	return n
}

// closeTime bounds the end of a host.
const closeTime = 20 * time.Second

// Close ends all of it.
func (w *World) Close() error {
	done := make(chan error, 1)
	go func() { done <- w.Host.Close() }()
	select {
	case err := <-done:
		return err
	case <-time.After(closeTime):
		return fmt.Errorf("the host didn't end in %v", closeTime)
	}
}
