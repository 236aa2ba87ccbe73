package flow

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/permission"
)

// Session is what one session took in. Nothing that it took in ever leaves it. It is safe for concurrent use.
//
// The order for one call: Check when it is decided; Wrote and Took before its first byte leaves; Took once more when its
// answer, or its failure, is there and nobody has seen it yet. What is under way counts thus from the moment it leaves,
// since progress comes before the answer; the second Took finds what others wrote to that server meanwhile.
type Session struct {
	book   *Book
	client *place
	labels atomic.Uint32 // of marks
	seen   atomic.Uint64 // the version of client that was taken over, and one more

	mu       sync.Mutex
	marks    []Mark
	accepted map[pair]struct{}
	last     map[Carrier]taken // of the carriers that it took from, when it last did
}

// taken is what was found at a carrier: while that is all there is, there is nothing to take again.
type taken struct {
	version uint64
	labels  Labels
	at      time.Time
}

// pair is a source of private data and the tool that may carry it out.
type pair struct {
	source string
	sink   permission.Target
}

// Session begins one, with what sessions of the same client that are open, or were not long ago, took in. Close ends it.
// Sessions whose principal and client are the same are one client's, also if both are empty.
func (b *Book) Session(principal, client string) *Session {
	s := b.session(principal, client, 1)
	b.mu.Lock()
	if b.open[s.client] == nil {
		b.open[s.client] = map[*Session]struct{}{}
	}
	b.open[s.client][s] = struct{}{}
	b.mu.Unlock()
	s.begin()
	return s
}

// Like is what a Session of the client would begin with, for whoever only looks: its client doesn't remember for longer
// because of it. It needs no Close.
func (b *Book) Like(principal, client string) *Session {
	s := b.session(principal, client, 0)
	s.begin()
	return s
}

func (b *Book) session(principal, client string, use int) *Session {
	return &Session{book: b, client: b.place(clientKey(principal, client), use), accepted: map[pair]struct{}{}, last: map[Carrier]taken{}}
}

// begin takes over what the client's other sessions hold.
func (s *Session) begin() {
	s.book.mu.Lock()
	others := slices.Collect(maps.Keys(s.book.open[s.client]))
	s.book.mu.Unlock()
	others = slices.DeleteFunc(others, func(o *Session) bool { return o == s })
	for _, o := range others {
		_ = o.hand(staleness) // what they hold is of now, however long ago they took it in; a failure was reported
	}
	s.pull()
}

// Close lets go of it; its client remembers for a while. It is idempotent. Calls under way may still use the session.
func (s *Session) Close() {
	b := s.book
	b.mu.Lock()
	_, first := b.open[s.client][s]
	delete(b.open[s.client], s)
	if len(b.open[s.client]) == 0 {
		delete(b.open, s.client)
	}
	b.mu.Unlock()
	if !first {
		return
	}
	_ = s.hand(0)
	b.mu.Lock()
	defer b.mu.Unlock()
	s.client.users--
	if s.client.users == 0 && s.client.kept() {
		delete(b.places, s.client.key)
	}
}

// Labels returns what the session holds.
func (s *Session) Labels() Labels {
	s.pull()
	return Labels(s.labels.Load())
}

// Marks returns what the session holds, by source.
func (s *Session) Marks() []Mark {
	s.pull()
	s.mu.Lock()
	defer s.mu.Unlock()
	marks := slices.Clone(s.marks)
	slices.SortFunc(marks, func(a, b Mark) int { return strings.Compare(a.Source, b.Source) })
	return marks
}

// Took says that something with these labels came from a carrier: the session holds it, and what others gave that
// carrier. When it returns, every later Check knows. An error says that this could not be kept for the time after this
// process: a call that hasn't left should not, then; for the session itself nothing is missing.
func (s *Session) Took(from Carrier, labels Labels) error {
	p := s.book.place(from.key(), 0)
	now := s.book.o.Now()
	whole := p.refresh()
	version := p.version.Load() // before the marks are read
	if whole && s.nothingNew(from, version, labels, now) {
		return nil
	}
	marks := p.marks(zero)
	if labels != 0 {
		marks = join(marks, Mark{Source: from.source(), Labels: labels})
	}
	if !whole {
		marks = join(marks, Mark{Source: Unknown, Labels: both})
	}
	for i := range marks {
		marks[i].At = now
	}
	s.take(marks)
	if err := s.hand(staleness); err != nil || !whole {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.last) >= maxTaken {
		clear(s.last)
	}
	s.last[from] = taken{version, labels, now}
	return nil
}

// maxTaken bounds what a session remembers of where it took from; what is forgotten is only looked at once more.
const maxTaken = 1000

func (s *Session) nothingNew(from Carrier, version uint64, labels Labels, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, known := s.last[from]
	return known && t.version == version && t.labels.Has(labels) && now.Sub(t.at) < staleness/2
}

// Wrote says that the session is about to give a carrier something: whoever reads there later takes in what the session
// holds. An error says that this could not be kept: the call should not leave.
func (s *Session) Wrote(to Carrier) error {
	s.pull()
	source := to.source()
	s.mu.Lock()
	marks := slices.DeleteFunc(slices.Clone(s.marks), func(m Mark) bool { return m.Source == source })
	s.mu.Unlock()
	if len(marks) == 0 {
		return nil
	}
	return s.book.place(to.key(), 0).add(marks, never)
}

// take adds marks to the session.
func (s *Session) take(marks []Mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	labels := Labels(s.labels.Load())
	for _, m := range marks {
		s.marks = join(s.marks, m)
		labels |= m.Labels
	}
	s.labels.Store(uint32(labels))
}

// hand gives the client what the session holds, as of now. Times in the Store may be older by as much as fresh.
func (s *Session) hand(fresh time.Duration) error {
	if s.book.o.Inherit() <= 0 {
		return nil
	}
	now := s.book.o.Now()
	s.mu.Lock()
	marks := slices.Clone(s.marks)
	s.mu.Unlock()
	marks = slices.DeleteFunc(marks, func(m Mark) bool { return m.Source == Unknown }) // it says nothing when the Store is well again
	if len(marks) == 0 {
		return nil
	}
	for i := range marks {
		marks[i].At = now
	}
	return s.client.add(marks, fresh)
}

// pull takes over what the client's sessions, in whatever process, took in.
func (s *Session) pull() {
	inherit := s.book.o.Inherit()
	if inherit <= 0 {
		return
	}
	whole := s.client.refresh()
	version := s.client.version.Load() + 1 // before the marks are read
	if whole && s.seen.Load() == version {
		return
	}
	marks := s.client.marks(s.book.o.Now().Add(-inherit - staleness))
	if !whole {
		marks = append(marks, Mark{Source: Unknown, Labels: both})
	}
	s.take(marks)
	s.seen.Store(version)
}
