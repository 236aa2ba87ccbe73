package journal

import (
	"bytes"
	"maps"
	"slices"

	"github.com/usher-mcp/usher/event"
)

// headsPerLine keeps a checkpoint well below event.MaxLine; more heads make more checkpoints.
const headsPerLine = 4096

// checkpoint queues the files and the heads of all sessions that changed since the last one or are open. Those that
// have ended are forgotten then. The host session is left out: it holds the checkpoint. The caller holds j.mu.
func (j *Journal) checkpoint(stamp []byte, files []event.CheckpointFile) error {
	heads := j.heads()
	var parts []event.Checkpoint
	for first := true; first || len(heads) > 0; first = false {
		n := min(len(heads), headsPerLine)
		parts = append(parts, event.Checkpoint{Files: files, Heads: heads[:n]})
		heads, files = heads[n:], nil
	}
	encoded := make([]bytes.Buffer, len(parts))
	for i, c := range parts {
		if err := event.Encode(&encoded[i], c); err != nil {
			return err
		}
	}
	for i, c := range parts {
		j.line(j.host, j.sessions[j.host], stamp, encoded[i].Bytes(), c)
	}
	for id, s := range j.sessions {
		if s.changed = false; s.ended && id != j.host {
			delete(j.sessions, id)
		}
	}
	return nil
}

func (j *Journal) heads() []event.CheckpointHead {
	var heads []event.CheckpointHead
	for _, id := range slices.Sorted(maps.Keys(j.sessions)) {
		if s := j.sessions[id]; id != j.host && (s.changed || !s.ended) {
			heads = append(heads, s.head(id))
		}
	}
	return heads
}
