package duplex

import (
	"strings"
	"testing"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
)

func TestParse(t *testing.T) {
	type want struct {
		id     mcp.ID
		method string
		broken bool
	}
	for in, wants := range map[string][]want{
		"":                                       {{}},
		" \n":                                    {{}},
		` {"jsonrpc":"2.0","id":1,"method":"x"}`: {{"1", "x", false}},
		"hello":                                  {{"", "", true}},
		`{"level":"info","id":3}`:                {{"", "", true}},
		`{"jsonrpc":"2.0","id":3,"result":{"a":1,"a":1}}`: {{"3", "", true}},
		`[]`:             {{"", "", true}},
		`[INFO] started`: {{"", "", true}},
		`[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{"a":1,"a":1}},7,{"jsonrpc":"2.0","method":"n"}]`: {
			{"1", "", false}, {"2", "", true}, {"", "n", false}, {"", "", true}},
	} {
		first, others := Parse([]byte(in))
		got := append([]Frame{first}, others...)
		if len(got) != len(wants) {
			t.Errorf("%s: %d frames, want %d", in, len(got), len(wants))
			continue
		}
		for i, w := range wants {
			m := got[i].Message
			if m == nil {
				m = new(mcp.Message)
			}
			if m.ID != w.id || m.Method != w.method || (got[i].Reason != nil) != w.broken {
				t.Errorf("%s: frame %d is %+v, %v", in, i, m, got[i].Reason)
			}
		}
	}
}

func TestParseBoundsBatches(t *testing.T) {
	const one = `{"jsonrpc":"2.0","id":1,"result":{}}`
	first, others := Parse([]byte("[" + strings.Repeat(one+",", maxBatch) + one + "]"))
	if first.Reason != nil || len(others) != maxBatch || others[maxBatch-1].Reason == nil {
		t.Errorf("%d frames, the last %v", 1+len(others), others[len(others)-1].Reason)
	}
}

func TestTooLong(t *testing.T) {
	if fault.KindOf(ErrTooLong) != fault.TooLarge {
		t.Error("ErrTooLong is no fault.TooLarge")
	}
}

func TestScanner(t *testing.T) {
	for in, want := range map[string]mcp.Message{
		`{"result":{"id":99,"t":"\"id\":5"},"jsonrpc":"2.0","id":7}`: {ID: "7"},
		`{"id":"a","method":"tools/call","params":{"t":"cut her`:     {ID: `"a"`, Method: "tools/call"},
		`{"method":"x","params":{"a":[{"id":1}]}}`:                   {Method: "x"},
		"{\n  \"method\": \"x\",\r\n\t\"id\":\n7\n}\n":               {ID: "7", Method: "x"}, // as ws, sse and grpc may carry it
		`[{"id":1}]`:        {},
		`hello {"id":1}`:    {},
		`{"id":1}{"id":2}`:  {},
		`{"id":{"a":1}}`:    {},
		`{"jsonrpc":"2.0"}`: {},
		`{"id":` + strings.Repeat("1", 3000) + `}`: {},
	} {
		for _, size := range []int{1, 3, len(in)} {
			s := new(Scanner)
			for rest := []byte(in); len(rest) > 0; rest = rest[min(size, len(rest)):] {
				s.Write(rest[:min(size, len(rest))])
			}
			got := s.Message()
			if got == nil {
				got = new(mcp.Message)
			}
			if got.ID != want.ID || got.Method != want.Method {
				t.Errorf("%.60s by %d: %+v", in, size, got)
			}
		}
	}
}
