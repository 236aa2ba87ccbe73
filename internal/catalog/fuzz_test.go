package catalog

import (
	"bytes"
	"testing"
)

// What decode takes, encode writes so that decode takes it again, with the same bytes of each item.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"v":1,"server":"s","key":"k","era":"modern","revision":"","instructions":"x"}`))
	f.Add([]byte(`{"v":1,"server":"s","key":"k","era":"legacy","capabilities":{"a": 1.0},"tools":{"listed":1,"ttlMs":2,"private":true,"complete":false,` +
		`"items":[ {"name":"a","inputSchema":{}} , {"n\u0061me":"b","x":1e400}]}}`))
	f.Add([]byte(`{"v":1,"server":"s","key":"k","era":"unknown","resources":{"listed":1,"ttlMs":0,"private":false,"complete":true,"items":[{"uri":"a:b"}]},` +
		`"resourceTemplates":{"listed":1,"ttlMs":0,"private":false,"complete":true,"items":[{"uriTemplate":"a:{b}"}]},` +
		`"prompts":{"listed":9223372036854775807,"ttlMs":9223372036854775807,"private":false,"complete":true,"items":[{"name":"p"}]}}`))
	server := Server{Name: "s", Key: "k"}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := decode(data, server)
		if err != nil {
			return
		}
		again, err := encode(e)
		if err != nil {
			t.Fatal(err)
		}
		e2, err := decode(again, server)
		if err != nil {
			t.Fatalf("%v: %s", err, again)
		}
		third, err := encode(e2)
		if err != nil || !bytes.Equal(again, third) {
			t.Fatalf("%v: %s\n%s", err, again, third)
		}
		for i, tool := range e.Tools.Items {
			if !bytes.Equal(tool.Raw, e2.Tools.Items[i].Raw) {
				t.Errorf("%s became %s", tool.Raw, e2.Tools.Items[i].Raw)
			}
		}
	})
}
