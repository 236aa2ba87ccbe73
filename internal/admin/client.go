package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/socket"
)

// ErrNoDaemon says that no usher serves a data folder.
var ErrNoDaemon = errors.New("usher isn't running")

const (
	glance    = 5 * time.Second // for a Status
	maxAnswer = 32 << 20        // bytes: the arguments of a call are at most 16 MiB, and a third longer on the way
)

// Client talks to the usher that serves a data folder. It is safe for concurrent use.
type Client struct {
	http   http.Client
	socket string
}

// Dial looks for the usher that serves dataDir. The error is ErrNoDaemon where there is none, or a *SocketError.
func Dial(ctx context.Context, dataDir string) (*Client, error) {
	path := SocketPath(dataDir)
	c := &Client{socket: path}
	c.http.Transport = &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return connect(ctx, path) },
		MaxConnsPerHost: 4, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: maxHeader,
	}
	ctx, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	first, err := connect(ctx, path)
	if err != nil {
		return nil, err
	}
	return c, first.Close()
}

// connect makes sure that it is this user's usher that listens.
func connect(ctx context.Context, path string) (net.Conn, error) {
	switch err := checkFolder(filepath.Dir(path)); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNoDaemon
	case err != nil:
		return nil, err
	}
	c, err := socket.Dial(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, ErrNoDaemon
	case err != nil:
		return nil, &SocketError{"can't connect to " + path + ": " + reasonOf(err), ""}
	}
	if uid, err := socket.PeerUID(c); err != nil || uid != os.Geteuid() {
		_ = c.Close()
		return nil, &SocketError{fmt.Sprintf("at %s a program of another user (uid %d) listens", path, uid), anotherFolder}
	}
	return c, nil
}

// Close ends the connections that nobody uses now.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status tells how usher and its servers fare.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	ctx, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	s := new(Status)
	return s, c.do(ctx, http.MethodGet, pathServers, nil, s)
}

// Restart ends a server and starts it anew, and returns when it is up.
func (c *Client) Restart(ctx context.Context, name string) error {
	return c.change(ctx, "restart", request{Name: name})
}

// SetDisabled changes whether a server is used, in the configuration and at once.
func (c *Client) SetDisabled(ctx context.Context, name string, disabled bool) error {
	verb := "enable"
	if disabled {
		verb = "disable"
	}
	return c.change(ctx, verb, request{Name: name})
}

// AddServer adds a server, in the configuration and at once; entry is as the configuration has it. It doesn't wait until
// the server is up.
func (c *Client) AddServer(ctx context.Context, name string, entry json.RawMessage) error {
	return c.change(ctx, "add", request{Name: name, Entry: entry})
}

// RemoveServer removes a server from the configuration, and ends it.
func (c *Client) RemoveServer(ctx context.Context, name string) error {
	return c.change(ctx, "remove", request{Name: name})
}

func (c *Client) change(ctx context.Context, verb string, r request) error {
	body, err := jsonv2.Marshal(r)
	if err != nil {
		return fault.New(fault.InvalidParams, "the entry is no JSON: %v", err)
	}
	return c.do(ctx, http.MethodPost, pathServers+"/"+verb, body, nil)
}

// do is one exchange. The error is what the API answered (Failure.Err), ctx's, ErrNoDaemon or a *SocketError.
func (c *Client) do(ctx context.Context, method, path string, body []byte, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://usher"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return c.broken(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return c.broken(err)
	}
	if res.StatusCode >= http.StatusBadRequest {
		var f Failure
		if json.Unmarshal(text, &f) != nil || f.Kind == "" {
			return c.odd(fmt.Errorf("it answered %s", res.Status))
		}
		return f.Err()
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return c.odd(err)
	}
	return nil
}

func (c *Client) odd(err error) error {
	return &SocketError{"what the running usher answers can't be understood: " + err.Error(), "It may be of another version: stop it, and start usher serve again"}
}

// broken says why there was no answer.
func (c *Client) broken(err error) error {
	if s, ok := errors.AsType[*SocketError](err); ok {
		return s
	}
	switch {
	case errors.Is(err, ErrNoDaemon):
		return ErrNoDaemon
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return &SocketError{fmt.Sprintf("an usher has %s and doesn't answer", c.socket), "It may be stopped (Ctrl-Z) or stuck: end it, and start usher serve again"}
	}
	return &SocketError{"the running usher broke off: " + reasonOf(err), "It may just be ending; run it again"}
}
