package floor

import "testing"

func TestIDSpan(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{"id":1}`, "1"},
		{` { "id" : -1.5e3 , "x":1}`, "-1.5e3"},
		{`{"result":{"id":2,"a":[{"id":3}]},"id":"q\\"}`, `"q\\"`},
		{`{"method":"id","id":4}`, "4"},
		{`{"a":"\\\"id\":9,\\","id":5}`, "5"},
		{`{"method":"x"}`, ""},
		{`{"params":{"id":6}}`, ""},
		{`{"id":null}`, ""},
		{`{"id":{"a":1}}`, ""},
		{`{"id":`, ""},
		{`{"id":"open`, ""},
		{`{"id"`, ""},
		{`[{"id":7}]`, ""},
		{`["id":8]`, ""},
		{`banner "id":9`, ""},
		{``, ""},
	}
	for _, tt := range tests {
		start, end, ok := idSpan([]byte(tt.in))
		if got := tt.in[start:end]; got != tt.want || ok != (tt.want != "") {
			t.Errorf("idSpan(%s) = %q, %v, want %q", tt.in, got, ok, tt.want)
		}
	}
}

func FuzzIDSpan(f *testing.F) {
	f.Add([]byte(`{"a":"\\","id":"x\""}`))
	f.Add([]byte(`{"id":"`))
	f.Fuzz(func(t *testing.T, b []byte) {
		start, end, ok := idSpan(b)
		if ok != (end > start) || start < 0 || end > len(b) {
			t.Errorf("idSpan(%q) = %d, %d, %v", b, start, end, ok)
		}
	})
}

func BenchmarkIDSpan(b *testing.B) {
	line := []byte(`{"result":{"content":[{"type":"text","text":"This is a simple text response for testing."}]},"jsonrpc":"2.0","id":1000000001}`)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, _, ok := idSpan(line); !ok {
			b.Fatal("no id")
		}
	}
}
