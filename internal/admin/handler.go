package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/ancestry"
)

const pathServers = "/v1/servers"

// request is the body of a change.
type request struct {
	Name  string          `json:"name"`
	Entry json.RawMessage `json:"entry,omitempty"`
}

// handler asks the host; it keeps nothing.
type handler struct {
	host     Host
	approver Approver // nil: there are no questions
	guard    ancestry.Guard
	notice   func(text string) // nil: nobody is told
}

func (h *handler) mux() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET "+pathServers, h.status)
	for verb, do := range map[string]func(context.Context, request) error{
		"restart": func(ctx context.Context, r request) error { return h.host.Restart(ctx, r.Name) },
		"enable":  func(ctx context.Context, r request) error { return h.host.SetDisabled(ctx, r.Name, false) },
		"disable": func(ctx context.Context, r request) error { return h.host.SetDisabled(ctx, r.Name, true) },
		"add":     func(ctx context.Context, r request) error { return h.host.AddServer(ctx, r.Name, r.Entry) },
		"remove":  func(ctx context.Context, r request) error { return h.host.RemoveServer(ctx, r.Name) },
	} {
		m.HandleFunc("POST "+pathServers+"/"+verb, h.change(do, verb))
	}
	h.approvals(m)
	m.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, fault.New(fault.NotFound, "usher %s has nothing at %s %s", usher.Version, r.Method, r.URL.Path))
	})
	return m
}

func (h *handler) status(w http.ResponseWriter, _ *http.Request) {
	c := h.host.Config()
	path, err := filepath.Abs(c.Path)
	if err != nil {
		path = c.Path
	}
	answer(w, http.StatusOK, Status{
		Version: usher.Version, PID: os.Getpid(), Config: path, Problems: problemsOf(c, path),
		Servers: running(c, h.host.Servers(), time.Now()), Idle: append([]Server{}, Idle(c)...), Folder: c.Folder,
	})
}

// change reads what is to change and does it. Which servers there are is a decision, as an answer is: a server is a
// program. So is a restart: it ends the calls of others, and starts a program.
func (h *handler) change(do func(context.Context, request) error, verb string) http.HandlerFunc {
	wantsEntry := verb == "add"
	return func(w http.ResponseWriter, req *http.Request) {
		r, err := read[request](w, req)
		if err == nil {
			err = h.mayDecide(req.Context(), fmt.Sprintf("the change %s of server %.40q", verb, r.Name))
		}
		switch {
		case err != nil:
		case r.Name == "":
			err = fault.New(fault.InvalidParams, "the request names no server")
		case wantsEntry != (len(r.Entry) > 0):
			err = fault.New(fault.InvalidParams, "an entry belongs to add, and only there")
		default:
			err = do(req.Context(), r)
		}
		if err != nil {
			refuse(w, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// read is strict: a request that is understood in part would be done in part.
func read[T any](w http.ResponseWriter, req *http.Request) (r T, err error) {
	err = jsonv2.UnmarshalRead(http.MaxBytesReader(w, req.Body, maxBody), &r, jsonv2.RejectUnknownMembers(true))
	if err == nil {
		return r, nil
	}
	if status, _ := failureOf(err); status == http.StatusRequestEntityTooLarge {
		return r, err
	}
	return r, &fault.Error{Kind: fault.InvalidParams, Detail: "the request can't be read", Cause: err}
}

func refuse(w http.ResponseWriter, err error) {
	status, f := failureOf(err)
	answer(w, status, f)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(body) // the client is gone
}
