package journal_test

import (
	"testing"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/journal"
)

func started(b *testing.B) *journal.Journal {
	j := open(b, journal.Options{Dir: b.TempDir()})
	add(b, j, "s_1", event.SessionStarted{Kind: "gateway"})
	return j
}

// Budget: 100,000 events/s; aim: 1.5 µs an event.
func BenchmarkAppend(b *testing.B) {
	j := started(b)
	data := call("c_0123456789")
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := j.Append(ctx, "s_1", data...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(len(data))/b.Elapsed().Seconds(), "events/s")
}

// One call as a session records it: five events, waited for, and two more, waited for.
func BenchmarkCallWaited(b *testing.B) {
	j := started(b)
	data := call("c_0123456789")
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		for _, part := range [][]event.Data{data[:5], data[5:]} {
			m, err := j.Append(ctx, "s_1", part...)
			if err == nil {
				err = j.Wait(ctx, m)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkCallWaitedParallel(b *testing.B) {
	j := started(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		data := call("c_0123456789")
		for pb.Next() {
			m, err := j.Append(b.Context(), "s_1", data...)
			if err == nil {
				err = j.Wait(b.Context(), m)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	dir := b.TempDir()
	j := open(b, journal.Options{Dir: dir})
	add(b, j, "s_1", event.SessionStarted{Kind: "gateway"})
	for range 1000 {
		add(b, j, "s_1", call("c")...)
	}
	closed(b, j)
	for b.Loop() {
		if r, err := journal.Verify(dir); err != nil || len(r.Problems) > 0 || r.Events != 7003 {
			b.Fatal(err, r)
		}
	}
}
