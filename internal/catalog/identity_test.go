package catalog_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/internal/catalog"
)

// C9: two servers never show each other's tools, also where whoever embeds Usher gives them one key by mistake.
func TestOneKeyForTwo(t *testing.T) {
	c, one, _ := shelf(t, catalog.Options{Store: new(catalog.Memory)}, catalog.Server{Name: "one", Key: "k"})
	one.SetTools(one.Begin(), tools("a"), nil)
	two := c.Shelves(t.Context(), catalog.Server{Name: "two", Key: "k"})[0]
	if names(two.Entry().Tools) != "" || two.Entry().Server != "two" {
		t.Errorf("%+v", two.Entry())
	}
	if c.Shelves(t.Context(), catalog.Server{Name: "one", Key: "k"})[0] != one {
		t.Error("the other has lost its shelf")
	}
}

// E6: a server that was taken out of the configuration and put in again leaves its newer list, whatever the disk took
// meanwhile; and those that went leave nothing behind for ever.
func TestForgottenWhileTheDiskFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 10 { // what was pending was written in any order
			disk := &store{err: errors.New("no space left on device")}
			id := catalog.Server{Name: "s", Key: "k"}
			c, before, _ := shelf(t, catalog.Options{Store: disk}, id)
			before.SetTools(before.Begin(), tools("old"), nil)
			time.Sleep(time.Second)
			c.Forget("k")
			now := c.Shelves(t.Context(), id)[0]
			now.SetTools(now.Begin(), tools("new"), nil)
			before.SetTools(before.Begin(), tools("late"), nil) // a listing that was under way
			disk.fail(nil)
			c.Close()
			if records, _ := disk.Load(t.Context(), []string{"k"}); len(records) != 1 {
				t.Fatalf("%d records", len(records))
			}
			_, s, _ := shelf(t, catalog.Options{Store: disk}, id)
			if got := names(s.Entry().Tools); got != "new" {
				t.Fatalf("%q", got)
			}
		}
	})
}

// What can't be written of servers that are gone doesn't pile up.
func TestForgottenIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &store{err: errors.New("no space left on device")}
		c, _, _ := shelf(t, catalog.Options{Store: disk}, catalog.Server{Name: "s", Key: "k"})
		for i := range 50 {
			key := fmt.Sprint(i)
			s := c.Shelves(t.Context(), catalog.Server{Name: "s", Key: key})[0]
			s.SetTools(s.Begin(), tools("a"), nil)
			time.Sleep(time.Second)
			c.Forget(key)
		}
		disk.fail(nil)
		c.Close()
		if _, _, records := disk.counts(); records > 2*50 {
			t.Errorf("%d records were tried", records)
		}
	})
}
