package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/internal/catalog"
	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBroken = errors.New("out of order")

// tools are what a listing brings: one of each name, in that order.
func tools(names ...string) (l client.List[mcp.Tool]) {
	for _, name := range names {
		tool, err := mcp.ParseTool(json.RawMessage(fmt.Sprintf(`{"name":%q,"inputSchema":{}}`, name)))
		if err != nil {
			panic(err)
		}
		l.Items = append(l.Items, tool)
	}
	return l
}

// names are those of a list.
func names(l catalog.List[mcp.Tool]) (out string) {
	for _, tool := range l.Items {
		out += tool.Name
	}
	return out
}

// reports collects what a catalogue says.
type reports struct {
	mu  sync.Mutex
	all []string
}

func (r *reports) take(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, err.Error())
}

func (r *reports) said() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all
}

func shelf(t *testing.T, o catalog.Options, server catalog.Server) (*catalog.Catalog, *catalog.Shelf, *reports) {
	t.Helper()
	r := new(reports)
	o.Report = r.take
	c := catalog.New(o)
	t.Cleanup(c.Close)
	return c, c.Shelves(t.Context(), server)[0], r
}

// store is a Memory that counts, and fails or blocks while it is told to.
type store struct {
	catalog.Memory
	mu           sync.Mutex
	loads, saves int
	records      int
	err          error
	block        chan struct{} // Save waits for it, or for the end of ctx
}

var _ catalog.Store = (*store)(nil)

func (s *store) Load(ctx context.Context, keys []string) ([]catalog.Record, error) {
	s.mu.Lock()
	s.loads++
	err := s.err
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return s.Memory.Load(ctx, keys)
}

func (s *store) Save(ctx context.Context, records ...catalog.Record) error {
	s.mu.Lock()
	s.saves++
	s.records += len(records)
	err, block := s.err, s.block
	s.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err != nil {
		return err
	}
	return s.Memory.Save(ctx, records...)
}

func (s *store) counts() (loads, saves, records int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loads, s.saves, s.records
}

func (s *store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}
