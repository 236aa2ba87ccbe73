package flow_test

import (
	"testing"

	"github.com/usher-mcp/usher/internal/flow"
)

// What every call of a clean session pays: less than 50 ns, and no memory.
func BenchmarkCleanCheck(b *testing.B) {
	s := newBook(b, nil).Session("p", "c")
	b.ReportAllocs()
	for b.Loop() {
		if s.Check(send, flow.ClosedSink) != nil {
			b.Fatal("a clean session asks")
		}
	}
}

// What a session that holds something pays for an answer more.
func BenchmarkTookAgain(b *testing.B) {
	s := newBook(b, nil).Session("p", "c")
	b.ReportAllocs()
	for b.Loop() {
		took(b, s, "mail", both)
	}
}

func BenchmarkTaintedCheck(b *testing.B) {
	s := newBook(b, nil).Session("p", "c")
	took(b, s, "mail", both)
	s.Accepted(s.Check(send, flow.ClosedSink))
	b.ReportAllocs()
	for b.Loop() {
		if s.Check(send, flow.ClosedSink) != nil {
			b.Fatal("accepted, and asks")
		}
	}
}

func TestCleanCheckTakesNoMemory(t *testing.T) {
	s := newBook(t, nil).Session("p", "c")
	if n := testing.AllocsPerRun(1000, func() { _ = s.Check(send, flow.ClosedSink) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
