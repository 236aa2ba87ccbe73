package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/ancestry"
	"github.com/usher-mcp/usher/internal/socket"
)

// Host is the usher that the API is for. Its methods are called from several goroutines at a time.
type Host interface {
	Viewer
	Changer
}

// Viewer tells how things are, at once.
type Viewer interface {
	// Servers tells how each server that isn't disabled fares.
	Servers() []usher.ServerStatus
	// Config is the configuration in force. Nobody changes it.
	Config() *config.Config
}

// Changer changes servers. Each method returns when the change is in force; the file of the configuration has it, too,
// but for Restart. Whether a server comes up after a change of the file is not waited for. Where ctx ends first, the
// change may still come. The error is a *config.Problem where the file can't be read or what is to stand in it is wrong,
// else a *fault.Error.
type Changer interface {
	// Restart ends a server and starts it anew, and returns when it is up.
	Restart(ctx context.Context, name string) error
	SetDisabled(ctx context.Context, name string, disabled bool) error
	AddServer(ctx context.Context, name string, entry json.RawMessage) error
	RemoveServer(ctx context.Context, name string) error
}

// ErrRunning says that another usher has the API of this data folder.
var ErrRunning = errors.New("another usher serves this data folder")

// Options of an API.
type Options struct {
	Host    Host
	DataDir string
	// Approvals are the questions that a person is to answer. Nil: the API has none.
	Approvals Approver
	// Guard says who may answer them. Its zero value keeps out only whom nobody can see.
	Guard ancestry.Guard
	// Notice is told, in a sentence, that somebody was refused. Nil: nobody is told.
	Notice func(text string)

	limits limits // zero: the default
}

// limits keep one client from costing more than its share.
type limits struct {
	header, body, idle, write time.Duration
	conns                     int
}

const (
	maxHeader = 16 << 10 // bytes
	maxBody   = 64 << 10
	farewell  = time.Second // for answers that are being written at the end
)

func defaultLimits() limits {
	return limits{header: 5 * time.Second, body: 10 * time.Second, idle: time.Minute, write: 10 * time.Minute, conns: 32}
}

// API is the server's end, of one running usher.
type API struct {
	http   *http.Server
	cancel context.CancelFunc
	served sync.WaitGroup
}

// Open serves the API until Close. The error is ErrRunning, or a *SocketError.
func Open(o Options) (*API, error) {
	path := SocketPath(o.DataDir)
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	l, err := socket.Listen(path)
	switch {
	case errors.Is(err, socket.ErrTaken):
		return nil, ErrRunning
	case errors.Is(err, socket.ErrNotSocket):
		return nil, &SocketError{path + " is there already, and is no socket", "Remove it"}
	case err != nil:
		return nil, &SocketError{"can't listen on " + path + ": " + reasonOf(err), anotherFolder}
	}
	if o.limits == (limits{}) {
		o.limits = defaultLimits()
	}
	return serve(o, newGate(l, o.limits.conns, func(uid int) {
		if o.Notice != nil {
			o.Notice(fmt.Sprintf("a program of another user (uid %d) wanted to look at the servers or change them: refused", uid))
		}
	})), nil
}

func serve(o Options, l net.Listener) *API {
	ctx, cancel := context.WithCancel(context.Background())
	s := &API{cancel: cancel, http: &http.Server{
		Handler:           (&handler{host: o.Host, approver: o.Approvals, guard: o.Guard, notice: o.Notice}).mux(),
		ReadHeaderTimeout: o.limits.header, ReadTimeout: o.limits.body, WriteTimeout: o.limits.write, IdleTimeout: o.limits.idle,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       log.New(io.Discard, "", 0), // all it knows is that some client broke off
		BaseContext:    func(net.Listener) context.Context { return ctx },
		ConnContext:    withGuest,
	}}
	s.served.Go(func() { _ = s.http.Serve(l) })
	return s
}

// Close ends the API, and the changes that are waited for.
func (s *API) Close() error {
	s.cancel()
	last, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	err := s.http.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	s.served.Wait()
	return err
}
