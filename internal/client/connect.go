package client

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// Connect opens a connection and finds out how its server wants to be spoken to (2026-07-28, "Protocol version
// negotiation"): server/discover first, initialize for all who don't answer it as a modern server does. A server whose
// process dies on the unknown message is connected a second time and shaken hands with in the old way; one that refuses
// initialize over HTTP is reached by Options.Fallback. ctx bounds all of it, not the life of the Session. The error is a
// *fault.Error, for which Steps tells how far it came; nothing is left open then.
//
// Options.Era spares a legacy server the probe. Whatever is remembered, what the server answers wins; Session.Info
// tells what to remember.
func Connect(ctx context.Context, t transport.Transport, o Options) (*Session, error) {
	o = o.withDefaults()
	done := new(steps)
	s, err := dial(ctx, t, o, done)
	if err != nil {
		f := fault.Of(err)
		f.Cause = &failed{f.Cause, done.done}
		return nil, f
	}
	s.listenFirst(ctx)
	s.way.info.Steps = done.done
	return s, nil
}

// dial is Connect without what follows the handshake. Its error is a *fault.Error of its caller's.
func dial(ctx context.Context, t transport.Transport, o Options, done *steps) (*Session, error) {
	s, err := open(ctx, t, o, done, "connect")
	if err != nil {
		return nil, err
	}
	err = s.greet(ctx)
	if died, ok := errors.AsType[*diedOnProbe](err); ok {
		_ = s.Close() // its end is known
		if s, err = open(ctx, t, o, done, "connect again"); err != nil {
			return nil, err
		}
		err = s.initialize(ctx, died.Error())
	}
	if err == nil {
		return s, nil
	}
	f := s.connectFailure(ctx, err)
	_ = s.Close()
	if why := fallBack(err); why != "" && o.Fallback != nil {
		return dialOld(ctx, o, done, f, why)
	}
	return nil, f
}

// diedOnProbe says that the connection can't be used any more, but that a new one may be.
type diedOnProbe struct{ how string }

func (d *diedOnProbe) Error() string { return "it ended on server/discover: " + d.how }

// greet finds the era and shakes hands. Its errors are raw.
func (s *Session) greet(ctx context.Context) error {
	if s.o.Era == mcp.Legacy {
		err := s.initialize(ctx, "remembered")
		if isRefused(err) {
			return s.secondThoughts(ctx, err)
		}
		return err
	}
	f := s.discover(ctx)
	switch f.step {
	case trust:
		return s.beModern(f)
	case giveUp:
		return f.err
	case respawn:
		return &diedOnProbe{how: f.why}
	}
	err := s.initialize(ctx, f.why)
	switch {
	case s.isDeath(ctx, err):
		return &diedOnProbe{how: s.death(err)} // having answered, or not
	case f.silent && isRefused(err):
		return s.secondThoughts(ctx, err)
	}
	return err
}

// secondThoughts asks a server that refused initialize whether it is a modern one after all: one that was slow to
// start, or that was legacy the last time. If not, the refusal stands.
func (s *Session) secondThoughts(ctx context.Context, refusal error) error {
	f := s.discover(ctx)
	if f.step != trust {
		return refusal
	}
	f.why += "; before that it had refused initialize"
	return s.beModern(f)
}

// isDeath tells the errors after which only a new connection may do better.
func (s *Session) isDeath(ctx context.Context, err error) bool {
	if err == nil || s.handler != nil || ctx.Err() != nil || isRefused(err) {
		return false
	}
	_, isFault := errors.AsType[*fault.Error](err)
	_, isBroken := errors.AsType[*transport.Broken](err)
	return !isFault && !isBroken
}

// discover probes, and once more if the server names a revision that both of us speak.
func (s *Session) discover(ctx context.Context) finding {
	f := s.probe(ctx, mcp.ModernRevisions()[0])
	if f.step != again {
		return f
	}
	second := s.probe(ctx, f.revision)
	if second.step != again {
		return second
	}
	if f.legacy || second.legacy {
		return finding{step: old, why: second.why + ", and legacy revisions among those it offers"}
	}
	return finding{step: giveUp, err: s.fault(fault.Protocol, "%s, even with a revision that it supports", second.why)}
}

func (s *Session) probe(ctx context.Context, revision string) finding {
	own, err := s.ownMeta(revision, s.o.Capabilities)
	if err != nil {
		return finding{step: giveUp, err: err}
	}
	limited, cancel := context.WithTimeout(ctx, s.o.ProbeTimeout)
	defer cancel()
	m := mcp.Request("", mcp.MethodDiscover, prepend(nil, own))
	m.Mirror = &mcp.Mirror{Revision: revision, Method: mcp.MethodDiscover}
	answer, err := plain(s.ask(limited, m))
	switch {
	case err == nil:
		return s.judge(answer)
	case ctx.Err() != nil:
		return finding{step: giveUp, err: err}
	case limited.Err() != nil && isContextError(err):
		return finding{step: old, silent: true, why: "server/discover stayed unanswered for " + s.o.ProbeTimeout.String()}
	}
	return s.judgeFailure(err)
}

// ask is exchange for the handshake: nothing is spliced, nothing is cancelled. As there, both an answer and an error
// may come back.
func (s *Session) ask(ctx context.Context, m *mcp.Message) (*mcp.Message, error) {
	end := s.steps.begin(m.Method)
	id := s.ids.Add(1)
	m.ID = mcp.IntID(id)
	answer, err := s.exchange(ctx, id, m, &job{s: s, method: m.Method, peer: mcp.Nobody, declared: &s.declared}, nil)
	end(s.outcome(answer, err))
	return answer, err
}

// ownMeta makes our members of _meta. It fails if c is no object.
func (s *Session) ownMeta(revision string, c json.RawMessage) ([]byte, error) {
	if !isObject(c) {
		return nil, errors.New("the client's capabilities must be a JSON object")
	}
	if len(c) == 0 {
		c = json.RawMessage(`{}`)
	}
	b := make([]byte, 0, 192+len(c)+len(s.who))
	b = append(append(append(b, `"`+mcp.MetaVersion+`":"`...), revision...), `","`+mcp.MetaCapabilities+`":`...)
	b = append(append(b, c...), `,"`+mcp.MetaClientInfo+`":`...)
	return append(b, s.who...), nil
}

func (s *Session) beModern(f finding) error {
	own, err := s.ownMeta(f.revision, s.o.Capabilities)
	if err != nil {
		return err
	}
	s.modern.Store(true)
	s.way = way{own: own, info: Info{
		Era: mcp.Modern, Revision: f.revision, Why: f.why,
		Capabilities: mcp.Member(f.result, "capabilities"),
		ServerInfo:   mcp.Path(f.result, metaKey, mcp.MetaServerInfo),
		Instructions: mcp.Cut(mcp.Text(mcp.Member(f.result, "instructions")), maxText),
	}}
	return nil
}

// initialize is the legacy handshake (2025-11-25, "Lifecycle").
func (s *Session) initialize(ctx context.Context, why string) error {
	c := s.o.Capabilities
	if !isObject(c) {
		return s.fault(fault.InvalidParams, "the client's capabilities must be a JSON object")
	}
	if len(c) == 0 {
		c = json.RawMessage(`{}`)
	}
	params := `{"protocolVersion":"` + mcp.LegacyRevisions()[0] + `","capabilities":` + string(c) + `,"clientInfo":` + string(s.who) + `}`
	answer, err := s.ask(ctx, mcp.Request("", mcp.MethodInitialize, json.RawMessage(params)))
	if answer, plainErr := plain(answer, err); plainErr != nil {
		return plainErr
	} else if answer.Error != nil {
		f := s.serverFault(mcp.MethodInitialize, answer.Err())
		f.Hint = "Check that this server speaks MCP (" + why + ")"
		f.Cause = errors.Join(f.Cause, err)
		return &refused{error: f, modern: isModernError(answer.Err())}
	}
	revision := mcp.Text(mcp.Member(answer.Result, "protocolVersion"))
	if !slices.Contains(mcp.LegacyRevisions(), revision) {
		return s.noCommon([]string{revision})
	}
	return s.beLegacy(ctx, revision, why, answer.Result)
}

func (s *Session) beLegacy(ctx context.Context, revision, why string, result json.RawMessage) error {
	w := way{info: Info{
		Era: mcp.Legacy, Revision: revision, Why: why,
		Capabilities: mcp.Member(result, "capabilities"),
		ServerInfo:   mcp.Member(result, "serverInfo"),
		Instructions: mcp.Cut(mcp.Text(mcp.Member(result, "instructions")), maxText),
	}}
	w.mirror = new(mcp.Mirror) // not nil, lest a transport repeats the revision of the probe
	if revision >= mcp.Revision20250618 {
		w.mirror.Revision = revision
	}
	s.way = w
	s.repeat.Store(w.mirror)
	m := mcp.Notification(mcp.NotifyInitialized, nil)
	m.Mirror = w.mirror
	end := s.steps.begin(m.Method)
	err := s.conn.Send(ctx, m)
	end(s.outcome(nil, err))
	if isRefusal(err) {
		return nil // some servers refuse what they need not answer
	}
	return err
}

func (s *Session) noCommon(theirs []string) error {
	ours := append(mcp.ModernRevisions(), mcp.LegacyRevisions()...)
	list := clean(strings.Join(theirs, ", "))
	e := s.fault(fault.Protocol, "it speaks MCP %s, usher speaks %s", list, strings.Join(ours, ", "))
	e.Hint = "Use another version of this server, or a newer usher"
	return e
}
