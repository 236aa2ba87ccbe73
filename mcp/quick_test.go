package mcp

import "testing"

func quickly(s string) bool { return (&quick{b: []byte(s)}).accepts() }

// What is accepted at a glance is what the strict decoder accepts; the usual is, the odd is left to it.
func TestQuick(t *testing.T) {
	for s, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"é \n"}],"n":[-1,0,1.5,true,false,null,{},[]]}}`: true,
		" { \"a\" : [ 1 , 2 ] }\n":  true,
		`{"a":1,"a":2}`:             false,
		`{"a":{"k":1},"b":{"k":1}}`: true,
		`{"\u0061":1}`:              false,
		`{"a":"\u0061"}`:            false,
		`{"a":"\x"}`:                false,
		"{\"a\":\"\xff\"}":          false,
		"{\"a\":\"\x01\"}":          false,
		`{"a":01}`:                  false,
		`{"a":1.}`:                  false,
		`{"a":-}`:                   false,
		`{"a":1e5}`:                 false,
		`{"a":1,}`:                  false,
		`[1,]`:                      false,
		`{"a"}`:                     false,
		`{} {}`:                     false,
		`{`:                         false,
		`"`:                         false,
		`"\`:                        false,
		`tru`:                       false,
		``:                          false,
	} {
		if got := quickly(s); got != want {
			t.Errorf("%s: %v", s, got)
		}
		if quickly(s) && strict([]byte(s)) != nil {
			t.Errorf("%s is accepted at a glance only", s)
		}
	}
}

func FuzzQuick(f *testing.F) {
	for _, s := range []string{`{"a":{"b":[1,"x"],"c":null}}`, `{"a":1,"a":2}`, `[0.5,-0,"\\"]`, "\"\xed\xa0\x80\"", `{"":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := strict(b); err != nil && quickly(string(b)) {
			t.Errorf("%q: accepted at a glance; the strict decoder says %v", b, err)
		}
	})
}
