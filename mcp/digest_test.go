package mcp

import "testing"

// F4: a digest changes with the meaning, not with the spelling.
func TestDigest(t *testing.T) {
	base := Digest([]byte(`{"a":1,"b":["x",{"c":null}]}`))
	for in, same := range map[string]bool{
		"{ \"b\" : [ \"\\u0078\" , {\"c\":null}],\n\"a\":1 }": true,
		`{"\u0061":1,"b":["x",{"c":null}]}`:                   true,
		`{"a":1.0,"b":["x",{"c":null}]}`:                      false,
		`{"a":1,"b":[{"c":null},"x"]}`:                        false,
		`{"a":1,"b":["x",{"c":"null"}]}`:                      false,
		`{"a":1,"b":["x"]}`:                                   false,
		`{"a":"1","b":["x",{"c":null}]}`:                      false,
	} {
		if got := Digest([]byte(in)) == base; got != same {
			t.Errorf("%s: same digest: %v, want %v", in, got, same)
		}
	}
	if Digest([]byte(`9007199254740992`)) == Digest([]byte(`9007199254740993`)) {
		t.Error("2^53 and 2^53+1 have one digest")
	}
	if Digest([]byte(`{"a":{"b":1},"c":2}`)) == Digest([]byte(`{"a":{"b":1,"c":2}}`)) {
		t.Error("a member that moves out of its object isn't seen")
	}
}
