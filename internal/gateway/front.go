package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
)

// handle returns an answer in any case. A panic in h fails one request.
func handle(ctx context.Context, h mcp.Handler, m *mcp.Message, p mcp.Peer) (answer *mcp.Message) {
	defer func() {
		if recover() != nil {
			answer = mcp.ErrorAnswer(m.ID, mcp.CodeInternal, "usher failed: a bug; the request may have run", nil)
		}
	}()
	answer, err := h.Handle(ctx, m, p)
	if err != nil {
		f := fault.Of(err)
		return mcp.ErrorAnswer(m.ID, f.Kind.Code(), f.Text(fault.English), nil)
	}
	if answer == nil {
		return mcp.ErrorAnswer(m.ID, mcp.CodeInternal, "no answer", nil)
	}
	answer.ID = m.ID
	return answer
}

// initialize answers the handshake of the legacy era and keeps who the client is.
func (a *agent) initialize(m *mcp.Message) *mcp.Message {
	a.meet(mcp.Legacy, mcp.Member(m.Params, "clientInfo"))
	revision := mcp.Text(mcp.Member(m.Params, "protocolVersion"))
	if !isLegacy(revision) {
		revision = mcp.LegacyRevisions()[0]
	}
	return mcp.Answer(m.ID, a.g.words.initialize(revision, a.changed != nil))
}

// legacy answers a request of a client that has shaken hands.
func (a *agent) legacy(ctx context.Context, m *mcp.Message, p mcp.Peer) *mcp.Message {
	switch m.Method {
	case mcp.MethodPing:
		return mcp.Answer(m.ID, nil)
	case mcp.MethodListTools, mcp.MethodCallTool:
		if refusal := badCursor(m); refusal != nil {
			return refusal
		}
		return a.forward(ctx, m, listener(m, p))
	}
	return noMethod(m)
}

// modern answers a request that carries its era in its `_meta`. The status is what HTTP says of it.
func (a *agent) modern(ctx context.Context, m *mcp.Message, meta metadata, p mcp.Peer) (*mcp.Message, int) {
	if refusal := meta.refusal(m); refusal != nil {
		return refusal, http.StatusBadRequest
	}
	a.meet(mcp.Modern, meta.clientInfo)
	switch m.Method {
	case mcp.MethodDiscover:
		return mcp.Answer(m.ID, a.g.words.discover), http.StatusOK
	case mcp.MethodListTools, mcp.MethodCallTool:
	default:
		return noMethod(m), http.StatusNotFound
	}
	if refusal := badCursor(m); refusal != nil {
		return refusal, http.StatusOK
	}
	answer := a.forward(ctx, m, listener(m, p))
	if answer.Error == nil {
		answer.Result = a.g.words.complete(answer.Result, m.Method == mcp.MethodListTools)
	}
	return answer, http.StatusOK
}

func noMethod(m *mcp.Message) *mcp.Message {
	return mcp.ErrorAnswer(m.ID, mcp.CodeMethodNotFound, "no method "+m.Method, nil)
}

// badCursor refuses to list from a cursor: the list has one page, so none was ever given out.
func badCursor(m *mcp.Message) *mcp.Message {
	if m.Method != mcp.MethodListTools || mcp.Text(mcp.Member(m.Params, "cursor")) == "" {
		return nil
	}
	return mcp.ErrorAnswer(m.ID, mcp.CodeInvalidParams, "unknown cursor; list again without one", nil)
}

// metadata is what a request's `_meta` says of the request itself (2026-07-28, "_meta").
type metadata struct{ version, capabilities, clientInfo json.RawMessage }

func readMetadata(params json.RawMessage) metadata {
	var d metadata
	for key, value := range mcp.Members(mcp.Member(params, "_meta")) {
		switch key = plain(key); string(key[1 : len(key)-1]) {
		case mcp.MetaVersion:
			d.version = value
		case mcp.MetaCapabilities:
			d.capabilities = value
		case mcp.MetaClientInfo:
			d.clientInfo = value
		}
	}
	return d
}

// missing answers a request whose `_meta` lacks what the modern era requires; nil if it doesn't.
func (d metadata) missing(m *mcp.Message) *mcp.Message {
	text := ""
	switch {
	case mcp.Text(d.version) == "":
		text = "params._meta must have " + mcp.MetaVersion + "; a client of an older revision sends initialize first"
	case len(d.capabilities) == 0 || d.capabilities[0] != '{':
		text = "params._meta must have " + mcp.MetaCapabilities + ", an object"
	default:
		return nil
	}
	return mcp.ErrorAnswer(m.ID, mcp.CodeInvalidParams, text, nil)
}

// refusal answers a request that lacks what it must carry or is of a revision that usher doesn't speak.
func (d metadata) refusal(m *mcp.Message) *mcp.Message {
	if refusal := d.missing(m); refusal != nil {
		return refusal
	}
	if version := mcp.Text(d.version); !slices.Contains(mcp.ModernRevisions(), version) {
		data := append([]byte(`{"supported":`), quoteAll(mcp.ModernRevisions())...)
		data = append(append(data, `,"requested":`...), mcp.Quote(version)...)
		return mcp.ErrorAnswer(m.ID, mcp.CodeUnsupportedVersion, "unsupported protocol version", append(data, '}'))
	}
	return nil
}

func isLegacy(revision string) bool { return slices.Contains(mcp.LegacyRevisions(), revision) }

// listener is what a request's caller hears: its progress, if it asked for that. Nothing can be asked of it, since the
// gateway asks clients nothing yet; nor does it offer logging.
func listener(m *mcp.Message, p mcp.Peer) mcp.Peer {
	if mcp.Path(m.Params, "_meta", mcp.MetaProgress) == nil {
		return mcp.Nobody
	}
	return progress{mcp.Nobody, p}
}

type progress struct {
	mcp.Peer // answers questions
	to       mcp.Peer
}

// Notify passes progress on.
func (p progress) Notify(ctx context.Context, m *mcp.Message) {
	if m.Method == mcp.NotifyProgress {
		p.to.Notify(ctx, m)
	}
}
