package sandbox

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// B1
func TestRingTail(t *testing.T) {
	tests := []struct {
		size  int
		write []string
		n     int
		want  string
	}{
		{0, nil, 10, ""},
		{0, []string{"one\n", "two\n"}, 100, "one\ntwo\n"},
		{0, []string{"one\ntwo\n"}, 4, "two\n"},
		{0, []string{"one\ntwo\n"}, 5, "two\n"},
		{0, []string{"one\ntwo\n"}, 6, "two\n"},
		{0, []string{"one\ntwo\n"}, 3, "wo\n"},
		{0, []string{"one\ntwo\n"}, 0, ""},
		{0, []string{"one\ntwo\n"}, -1, ""},
		{0, []string{"aäö"}, 3, "ö"},
		{0, []string{"a\xff\xfeb\n"}, 100, "a?b\n"},
		{8, []string{"1\n2\n3\n4\n5\n"}, 100, "2\n3\n4\n5\n"},
		{8, []string{"first\n", "second\n"}, 100, "second\n"},
		{8, []string{"ab", "cd", "ef", "gh", "ij"}, 100, "cdefghij"},
		{8, []string{"12345678", "\nx\n"}, 100, "x\n"},
		{4, []string{"abcd", "", "e"}, 100, "bcde"},
		{4, []string{"ab\ncd\nef\n"}, 100, "ef\n"},
		{4, []string{"abc", "d\ne"}, 3, "e"},
		{5, []string{"abcd", "e\nfg"}, 4, "fg"},
		{5, []string{"abcd", "e\nfg"}, 5, "fg"},
		{4, []string{"a", "zzzzz\nxyz\n"}, 100, "xyz\n"},
	}
	for _, tt := range tests {
		r := NewRing(tt.size)
		for _, w := range tt.write {
			if n, err := r.Write([]byte(w)); n != len(w) || err != nil {
				t.Fatalf("Write(%q) = %d, %v", w, n, err)
			}
		}
		if got := r.Tail(tt.n); got != tt.want {
			t.Errorf("size %d, %q, Tail(%d) = %q, want %q", tt.size, tt.write, tt.n, got, tt.want)
		}
	}
}

func FuzzRing(f *testing.F) {
	f.Add("ab\n", "c\xffd\n", uint8(3), uint8(5))
	f.Fuzz(func(t *testing.T, a, b string, size, n uint8) {
		r := NewRing(int(size) + 1)
		for _, s := range []string{a, b, a} {
			_, _ = r.Write([]byte(s))
		}
		tail := r.Tail(int(n))
		if len(tail) > min(int(n), int(size)+1) || !utf8.ValidString(tail) {
			t.Errorf("Tail(%d) of %d = %q", n, int(size)+1, tail)
		}
		all := strings.ToValidUTF8(a+b+a, "?")
		if utf8.ValidString(a+b) && !strings.HasSuffix(all, strings.TrimLeft(tail, "?")) {
			t.Errorf("%q is not the end of %q", tail, all)
		}
	})
}

func TestRingIsConcurrentAndBounded(t *testing.T) {
	var r Ring
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 1000 {
				fmt.Fprintf(&r, "line of writer %d\n", i)
				_ = r.Tail(100)
			}
		})
	}
	wg.Wait()
	all := r.Tail(1 << 30)
	if len(all) > DefaultRing || len(all) < DefaultRing-20 {
		t.Errorf("%d bytes kept", len(all))
	}
	for line := range strings.Lines(all) {
		if !strings.HasPrefix(line, "line of writer ") {
			t.Fatalf("mixed line %q", line)
		}
	}
}
