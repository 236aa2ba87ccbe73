package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/internal/catalog"
	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/mcp"
)

// Changes that come together are written together, and what didn't change isn't written, but once a day.
func TestCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := new(store)
		var ids []catalog.Server
		for i := range 20 {
			ids = append(ids, catalog.Server{Name: "s", Key: fmt.Sprint(i)})
		}
		c, _, said := shelf(t, catalog.Options{Store: disk}, ids[0])
		all := c.Shelves(t.Context(), ids...)
		wrote := func(saves, records int) {
			t.Helper()
			time.Sleep(time.Second)
			if _, s, r := disk.counts(); s != saves || r != records {
				t.Errorf("%d writes of %d records, want %d of %d", s, r, saves, records)
			}
		}
		for _, s := range all {
			full(s)
		}
		wrote(1, 20)
		for _, s := range all {
			full(s)
		}
		wrote(1, 20)
		all[0].SetTools(all[0].Begin(), tools("other"), nil)
		wrote(2, 21)
		time.Sleep(24 * time.Hour)
		full(all[1])
		wrote(3, 22)
		if said := said.said(); len(said) > 0 {
			t.Error(said)
		}
	})
}

// A disk that fails or hangs costs no call anything, and is told of once until it works again.
func TestBrokenDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &store{err: errors.New("no space left on device")}
		id := catalog.Server{Name: "s", Key: "k"}
		c, s, said := shelf(t, catalog.Options{Store: disk}, id)
		if all := said.said(); len(all) != 1 || !strings.Contains(all[0], "can't be read: no space left") {
			t.Error(all)
		}
		said.all = nil
		for i := range 5 {
			s.SetTools(s.Begin(), tools(fmt.Sprint(i)), nil)
			time.Sleep(time.Second)
		}
		if all := said.said(); len(all) != 1 || !strings.Contains(all[0], "can't be kept for the next start: no space left") {
			t.Errorf("%q", all)
		}
		if names(s.Entry().Tools) != "4" || !s.Fresh(catalog.Tools) {
			t.Error("the memory suffered")
		}
		disk.fail(nil)
		c.Close()
		_, s, _ = shelf(t, catalog.Options{Store: disk}, id)
		if names(s.Entry().Tools) != "4" {
			t.Errorf("what was left over wasn't written: %q", names(s.Entry().Tools))
		}
	})
}

func TestHangingDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &store{block: make(chan struct{})}
		c, s, said := shelf(t, catalog.Options{Store: disk}, catalog.Server{Name: "s", Key: "k"})
		begun := time.Now()
		for i := range 1000 {
			s.SetTools(s.Begin(), tools(fmt.Sprint(i)), nil)
			if i == 500 {
				synctest.Wait()
				time.Sleep(time.Second) // the writer hangs now
			}
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("calls waited for %v", took-time.Second)
		}
		begun = time.Now()
		c.Close()
		if took := time.Since(begun); took > time.Second {
			t.Errorf("Close took %v", took)
		}
		if len(said.said()) != 1 {
			t.Errorf("%q", said.said())
		}
	})
}

// Close writes what is new, at once.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := new(store)
		begun := time.Now()
		c, s, _ := shelf(t, catalog.Options{Store: disk}, catalog.Server{Name: "s", Key: "k"})
		full(s)
		c.Close()
		c.Close()
		if _, _, records := disk.counts(); records != 1 || time.Since(begun) > 0 {
			t.Errorf("%d records, in %v", records, time.Since(begun))
		}
		full(s)
		s.SetTools(s.Begin(), tools("later"), nil)
		if _, _, records := disk.counts(); records != 1 {
			t.Error("written after Close")
		}
	})
}

// What is too much, has a secret in it, or couldn't be read back isn't written. It is told of once, by name.
func TestRefused(t *testing.T) {
	huge := tools("a")
	huge.Items[0].Raw = json.RawMessage(`{"name":"a","inputSchema":{},"x":"` + strings.Repeat("x", catalog.MaxRecord) + `"}`)
	var many client.List[mcp.Tool]
	for i := range 10_001 {
		many.Items = append(many.Items, tools(fmt.Sprint(i)).Items...)
	}
	none := tools("a")
	none.Items[0].Raw = nil
	for want, l := range map[string]client.List[mcp.Tool]{
		"larger than 16 MiB": huge, "more than 10000 tools": many, "has a secret": tools("token-1234"), "without its bytes": none,
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disk := new(store)
				redact := func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "token-1234", "[redacted]")) }
				_, s, said := shelf(t, catalog.Options{Store: disk, Redact: redact}, catalog.Server{Name: "git", Key: "k"})
				for i := range 3 {
					s.SetTools(s.Begin(), l, nil)
					s.Greet(client.Info{Revision: fmt.Sprint(i)})
					time.Sleep(time.Second)
				}
				all := said.said()
				if _, _, records := disk.counts(); records > 0 || len(all) != 1 || !strings.Contains(all[0], want) || !strings.Contains(all[0], `"git"`) {
					t.Errorf("%d records, %q", records, all)
				}
				if strings.Contains(fmt.Sprint(all), "1234") {
					t.Error("the secret was told")
				}
				if len(s.Entry().Tools.Items) != len(l.Items) {
					t.Error("the memory suffered")
				}
				s.SetTools(s.Begin(), tools("good"), nil)
				time.Sleep(time.Second)
				if _, _, records := disk.counts(); records != 1 {
					t.Error("what is good again wasn't written")
				}
			})
		})
	}
}

// Records that are large together are written by parts, so that they aren't in memory all at once.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := new(store)
		c, _, _ := shelf(t, catalog.Options{Store: disk}, catalog.Server{Name: "s", Key: "k"})
		large := tools("a")
		large.Items[0].Raw = json.RawMessage(`{"name":"a","inputSchema":{},"x":"` + strings.Repeat("x", 1<<20) + `"}`)
		for i := range 9 {
			s := c.Shelves(t.Context(), catalog.Server{Name: "s", Key: fmt.Sprint(i)})[0]
			s.SetTools(s.Begin(), large, nil)
		}
		c.Close()
		if _, saves, records := disk.counts(); saves != 3 || records != 9 {
			t.Errorf("%d writes of %d records", saves, records)
		}
	})
}
