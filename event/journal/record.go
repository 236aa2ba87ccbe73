package journal

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/usher-mcp/usher/event"
)

// record is an event that has no place in a chain yet: what the queue and the spool hold. In both, the events of one
// Append lie together as
//
//	length u32 | crc u32 | mark u64 | stamp 27 | len(session) u8 | events u16 | session | (len(kind) u8 | len(data) u32 | kind)… | data…
//
// little-endian; length counts what follows crc, crc (Castagnoli) is over it, and mark is the first event's.
type record struct {
	mark                       uint64
	stamp, session, kind, data []byte
}

const (
	groupHead  = 8
	groupFixed = 8 + len(event.TimeFormat) + 3 // after the head
	eventFixed = 5
	maxEvents  = 1<<16 - 1 // of one Append
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendGroup appends the events of b. mark is the first one's.
func appendGroup(dst []byte, mark uint64, session string, b *batch) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, mark)
	dst = append(dst, b.stamp...)
	dst = append(dst, byte(len(session)))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(b.ends)))
	dst = append(dst, session...)
	from := 0
	for i, end := range b.ends {
		kind := b.data[i].Type()
		dst = append(dst, byte(len(kind)))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(end-from))
		dst = append(dst, kind...)
		from = end
	}
	dst = append(dst, b.buf.Bytes()...)
	body := dst[start+groupHead:]
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(body)))
	binary.LittleEndian.PutUint32(dst[start+4:], crc32.Checksum(body, castagnoli))
	return dst
}

// nextGroup takes the first group off b and calls each for its events. It trusts nothing: ok is false, and each was not
// called, where none stands there whole. The parts of a record are slices of b.
func nextGroup(b []byte, each func(record)) (rest []byte, ok bool) {
	if len(b) < groupHead+groupFixed {
		return nil, false
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n < groupFixed || n > len(b)-groupHead {
		return nil, false
	}
	body, rest := b[groupHead:groupHead+n], b[groupHead+n:]
	if binary.LittleEndian.Uint32(b[4:]) != crc32.Checksum(body, castagnoli) {
		return nil, false
	}
	r := record{mark: binary.LittleEndian.Uint64(body)}
	body = body[8:]
	r.stamp, body = body[:len(event.TimeFormat)], body[len(event.TimeFormat):]
	session, events := int(body[0]), int(binary.LittleEndian.Uint16(body[1:]))
	if body = body[3:]; len(body) < session {
		return nil, false
	}
	r.session, body = body[:session], body[session:]
	data, size, ok := dataOf(body, events)
	if !ok || size != len(data) {
		return nil, false
	}
	for range events {
		kind, length := int(body[0]), int(binary.LittleEndian.Uint32(body[1:]))
		r.kind, body = body[eventFixed:eventFixed+kind], body[eventFixed+kind:]
		r.data, data = data[:length], data[length:]
		each(r)
		r.mark++
	}
	return rest, true
}

// dataOf returns what follows the table of events, and how much that should be.
func dataOf(table []byte, events int) (data []byte, size int, ok bool) {
	for range events {
		if len(table) < eventFixed || len(table) < eventFixed+int(table[0]) {
			return nil, 0, false
		}
		size += int(binary.LittleEndian.Uint32(table[1:]))
		table = table[eventFixed+int(table[0]):]
	}
	return table, size, true
}
