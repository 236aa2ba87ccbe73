package catalog

import "time"

const (
	leastTTL   = time.Second // a server that says less is asked no more often
	firstGap   = time.Minute // from a listing that failed to the next
	longestGap = time.Hour   // it doubles up to here
)

// Fresh reports whether a list is good: the server confirmed it in this process, all of it, and neither has its time
// ended nor may it have changed since.
func (s *Shelf) Fresh(k Kind) bool {
	due, ok := s.Due(k)
	return s.Entry().Listing(k).good() && (!ok || clock().Before(due))
}

func (l Listing) good() bool { return l.Complete && !l.Cached && l.Err == nil }

// Due returns when a list should be asked for again: a time that has passed where that is now, and false where there is
// nothing to do before the server says that the list changed. After failures it waits longer each time.
func (s *Shelf) Due(k Kind) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k >= kinds {
		return time.Time{}, false
	}
	l := s.entry.Load().listing(k)
	switch ttl := s.timeToLive(l); {
	case l.tried == 0 || s.changed[k] > l.tried:
		return time.Time{}, true
	case l.Err != nil && l.Failed.After(clock()): // the clock was set back: nobody knows how old it is
		return time.Time{}, true
	case l.Err != nil:
		return l.Failed.Add(gap(l.failures)), true
	case ttl == 0:
		return time.Time{}, false
	case l.Listed.After(clock()): // here, too
		return time.Time{}, true
	default:
		return l.Listed.Add(ttl), true
	}
}

// timeToLive is 0 for a list that is good until it changes.
func (s *Shelf) timeToLive(l *Listing) time.Duration {
	ttl := l.TTL
	if ttl <= 0 {
		ttl = time.Duration(s.ttl.Load())
	}
	if ttl <= 0 {
		return 0
	}
	return max(ttl, leastTTL)
}

func gap(failures int) time.Duration {
	return min(firstGap<<min(max(failures-1, 0), 10), longestGap)
}
