package journal

import (
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/usher-mcp/usher/event"
)

// After a failed sync the lines are not durable, and they are written anew before the next sync: here the failure
// also loses what was written, as a kernel may do. H5
func TestFailedSync(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	j, err := Open(ctx, Options{Dir: dir, Durability: DurabilityFull})
	if err != nil {
		t.Fatal(err)
	}
	failures := 2
	j.sync = func(f *os.File) error {
		if failures--; failures < 0 {
			return f.Sync()
		}
		if _, err := f.WriteAt(make([]byte, 50), j.cur.size); err != nil {
			t.Error(err)
		}
		return syscall.EIO
	}
	m, err := j.Append(ctx, "s_1", event.SessionStarted{Kind: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := j.Wait(ctx, m); err == nil {
			t.Fatal("durable although the sync failed")
		}
		if info, err := j.cur.f.Stat(); err != nil || info.Size() != j.cur.size {
			t.Errorf("the file has %d bytes, %d are durable", info.Size(), j.cur.size)
		}
	}
	if err := j.Wait(ctx, m); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Verify(dir)
	if err != nil || len(r.Problems) > 0 || r.Events != 3 {
		t.Errorf("%v %+v", err, r)
	}
}
