package catalog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/usher-mcp/usher/internal/catalog"
	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/mcp"
)

// full sets everything that a shelf can hold.
func full(s *catalog.Shelf) {
	s.Greet(client.Info{
		Era: mcp.Modern, Revision: "2026-07-28", Instructions: "Be \"kind\".\n\u2028",
		Capabilities: json.RawMessage(`{"tools":{ "x":1.0}}`), ServerInfo: json.RawMessage(`{"name":"<s>"}`),
	})
	m := s.Begin()
	l := tools("a", "b")
	l.TTL, l.Private = 5*time.Minute, true
	s.SetTools(m, l, nil)
	resource, _ := mcp.ParseResource(json.RawMessage(`{"uri":"file:///a","name":"a","x-own":[1.0,1e400]}`))
	s.SetResources(m, client.List[mcp.Resource]{Items: []mcp.Resource{resource}}, nil)
	template, _ := mcp.ParseResourceTemplate(json.RawMessage(`{"uriTemplate":"file:///{a}" , "name":"a"}`))
	s.SetTemplates(m, client.List[mcp.ResourceTemplate]{Items: []mcp.ResourceTemplate{template}}, errBroken)
	prompt, _ := mcp.ParsePrompt(json.RawMessage("{\"name\":\"p\",\n\"arguments\":[{\"name\":\"x\",\"required\":true}]}"))
	s.SetPrompts(m, client.List[mcp.Prompt]{Items: []mcp.Prompt{prompt}}, nil)
}

// E6: after a restart all is there, marked as cached until the server has confirmed it.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := new(store)
		id := catalog.Server{Name: "s", Key: "k"}
		first, s, _ := shelf(t, catalog.Options{Store: disk}, id)
		full(s)
		want := s.Entry()
		first.Close()
		if want.Cached() {
			t.Error("what the server said just now is called cached")
		}
		time.Sleep(time.Minute)

		_, s, said := shelf(t, catalog.Options{Store: disk}, id)
		got := s.Entry()
		ignore := cmp.Options{cmpopts.IgnoreUnexported(catalog.Listing{}), cmpopts.IgnoreFields(catalog.Listing{}, "Cached", "Err", "Failed"),
			cmpopts.EquateApproxTime(time.Millisecond)}
		if diff := cmp.Diff(want, got, ignore); diff != "" {
			t.Errorf("(-before +after)\n%s", diff)
		}
		for k := catalog.Tools; k <= catalog.Prompts; k++ {
			if due, ok := s.Due(k); !got.Listing(k).Cached || s.Fresh(k) || !ok || due.After(time.Now()) {
				t.Errorf("%s: cached %v, fresh %v, due %v", k, got.Listing(k).Cached, s.Fresh(k), due)
			}
		}
		if got.Tools.Complete != true || got.Templates.Complete {
			t.Error("a part came back as a whole")
		}

		s.SetTools(s.Begin(), tools(), errBroken)
		if l := s.Entry().Tools; !l.Cached || names(l) != "ab" || l.Err == nil {
			t.Error("a failed listing confirmed, or lost, the list")
		}
		if s.SetTools(s.Begin(), tools("a", "b"), nil) {
			t.Error("the same list is another")
		}
		if e := s.Entry(); e.Tools.Cached || !e.Prompts.Cached || !e.Cached() || !s.Fresh(catalog.Tools) {
			t.Error("not confirmed")
		}
		if said := said.said(); len(said) > 0 {
			t.Error(said)
		}
	})
}

// Twenty servers are one read; the same key is the same shelf, and another key another.
func TestShelves(t *testing.T) {
	disk := new(store)
	c, _, _ := shelf(t, catalog.Options{Store: disk}, catalog.Server{Name: "s", Key: "k"})
	var ids []catalog.Server
	for i := range 20 {
		ids = append(ids, catalog.Server{Name: "s", Key: fmt.Sprint(i)})
	}
	all := c.Shelves(t.Context(), ids...)
	again := c.Shelves(t.Context(), ids...)
	for i := range all {
		if all[i] != again[i] || all[i].Entry().Key != fmt.Sprint(i) || i > 0 && all[i] == all[0] {
			t.Errorf("shelf %d", i)
		}
	}
	if loads, _, _ := disk.counts(); loads != 2 {
		t.Errorf("%d reads", loads)
	}
	c.Forget("0")
	if c.Shelves(t.Context(), ids[0])[0] == all[0] {
		t.Error("not forgotten")
	}
}

// Without a Store nothing is kept, and nothing else differs.
func TestNoStore(t *testing.T) {
	c, s, said := shelf(t, catalog.Options{}, catalog.Server{Name: "s", Key: "k"})
	full(s)
	c.Close()
	c.Close()
	full(s)
	if len(said.said()) > 0 || names(s.Entry().Tools) != "ab" {
		t.Error(said.said())
	}
}

// A record that isn't as the catalogue writes it loses that server only, and is told of.
func TestDamagedRecord(t *testing.T) {
	disk := new(catalog.Memory)
	one, two := catalog.Server{Name: "one", Key: "k1"}, catalog.Server{Name: "two", Key: "k2"}
	c := catalog.New(catalog.Options{Store: disk})
	for _, s := range c.Shelves(t.Context(), one, two) {
		full(s)
	}
	c.Close()
	records, _ := disk.Load(t.Context(), []string{"k1"})
	good := string(records[0].Data)
	for _, change := range [][2]string{
		{`{"v":1`, `{"v":2`}, {`"key":"k1"`, `"key":"k2"`}, {`"server":"one"`, `"server":"two"`}, {`"name":"a"`, `"name":"b"`}, {`"name":"a"`, `"name":"*"`},
		{`"name":"a"`, `"name":"a\u202e"`}, {`"name":"a"`, `"nome":"a"`}, {`"name":"a"`, `"name":"a","name":"b"`}, {`"name":"a"`, "\"name\":\"\xff\""},
		{`"name":"a"`, `"name":7`}, {`"era":"modern"`, `"era":"next"`}, {`"complete":true`, `"complete":1`}, {`"private":true`, `"private":null`},
		{`"ttlMs":300000`, `"ttlMs":-1`}, {`"listed":`, `"listed":1e9,"x":`}, {`"items":[`, `"items":7,"x":[`}, {`"tools":{"listed"`, `"tools":[],"x":{"listed"`},
		{`"uri":"file:///a"`, `"uri":""`}, {`}]}}`, `}]}`}, {`"capabilities":{`, `"capabilities":1,"x":{`}, {`"x":1.0`, `"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200)},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		if bad == good {
			t.Fatalf("%s is not in the record: %s", change[0], good)
		}
		_ = disk.Save(t.Context(), catalog.Record{Key: "k1", Server: "one", Data: []byte(bad)})
		var said reports
		c := catalog.New(catalog.Options{Store: disk, Report: said.take})
		all := c.Shelves(t.Context(), one, two)
		c.Close()
		if e := all[0].Entry(); e.Era != mcp.EraUnknown || len(e.Tools.Items) > 0 || e.Cached() || len(said.all) != 1 || !strings.Contains(said.all[0], `"one"`) {
			t.Errorf("%s: %+v, %q", change[1], e, said.all)
		}
		if e := all[1].Entry(); !e.Cached() || names(e.Tools) != "ab" {
			t.Errorf("%s: its neighbour is lost, too", change[1])
		}
	}
}
