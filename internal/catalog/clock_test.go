package catalog

import (
	"errors"
	"testing"
	"time"

	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/mcp"
)

// E6: when the clock is set back, a list whose last listing failed isn't left alone until the time of that failure comes
// again, nor one that has a time to live.
func TestClockSetBack(t *testing.T) {
	c := New(Options{})
	defer c.Close()
	for name, err := range map[string]error{"failed": errors.New("out of order"), "listed": nil} {
		s := c.Shelves(t.Context(), Server{Name: "s", Key: name, TTL: time.Minute})[0]
		m := s.Begin()
		m.at = m.at.Add(365 * 24 * time.Hour)
		s.SetTools(m, client.List[mcp.Tool]{}, err)
		if due, ok := s.Due(Tools); !ok || due.After(time.Now()) {
			t.Errorf("%s: due in %v", name, time.Until(due))
		}
	}
}
