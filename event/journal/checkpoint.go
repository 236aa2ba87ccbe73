package journal

import (
	"bytes"
	"maps"
	"slices"

	"github.com/usher-mcp/usher/event"
)

// headsPerLine keeps a checkpoint well below event.MaxLine; more heads make more checkpoints.
const headsPerLine = 4096

// checkpoint adds lines with the files and the heads of all sessions that changed since the last one or are open.
// Those that have ended are forgotten then. The host session is left out: it holds the checkpoint. The caller holds j.w.
func (j *Journal) checkpoint(files []event.CheckpointFile) error {
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
	stamp := j.opt.Clock().UTC().AppendFormat(nil, event.TimeFormat)
	for i, c := range parts {
		j.lines = j.sessions[j.host].line(j.lines, stamp, noteOf(c), encoded[i].Bytes())
	}
	j.forgetEnded()
	return nil
}

func (j *Journal) forgetEnded() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for id, s := range j.sessions {
		if s.changed = false; s.ended && id != j.host {
			delete(j.sessions, id)
			delete(j.known, id)
		}
	}
}

func (j *Journal) heads() []event.CheckpointHead {
	var heads []event.CheckpointHead
	for _, id := range slices.Sorted(maps.Keys(j.sessions)) {
		if s := j.sessions[id]; id != j.host && (s.changed || !s.ended) {
			heads = append(heads, s.head())
		}
	}
	return heads
}
