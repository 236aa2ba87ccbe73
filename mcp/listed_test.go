package mcp

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseListed(t *testing.T) {
	raw := []byte(`{"uri":"a:\u002F","name":"n","mimeType":"text/plain","size":1.0,"x":[1]}`)
	r, err := ParseResource(raw)
	if d := cmp.Diff(Resource{URI: "a:/", Name: "n", MimeType: "text/plain", Raw: raw}, r); err != nil || d != "" {
		t.Error(err, d)
	}
	raw = []byte(`{"uriTemplate":"a:{b}","name":"n","title":"T"}`)
	tp, err := ParseResourceTemplate(raw)
	if d := cmp.Diff(ResourceTemplate{URITemplate: "a:{b}", Name: "n", Title: "T", Raw: raw}, tp); err != nil || d != "" {
		t.Error(err, d)
	}
	raw = []byte(`{"name":"p","arguments":[{"name":"a","required":true}]}`)
	p, err := ParsePrompt(raw)
	if d := cmp.Diff(Prompt{Name: "p", Arguments: []PromptArgument{{Name: "a", Required: true}}, Raw: raw}, p); err != nil || d != "" {
		t.Error(err, d)
	}
	for _, bad := range []string{`7`, `{}`, `{"uri":1,"uriTemplate":2,"name":3}`, `{"uri":"","name":""}`} {
		_, err1 := ParseResource([]byte(bad))
		_, err2 := ParseResourceTemplate([]byte(bad))
		_, err3 := ParsePrompt([]byte(bad))
		if err1 == nil || err2 == nil || err3 == nil {
			t.Errorf("%s was taken: %v, %v, %v", bad, err1, err2, err3)
		}
	}
}
