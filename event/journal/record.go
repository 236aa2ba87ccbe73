package journal

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/usher-mcp/usher/event"
)

// record is an event that has no place in a chain yet: what the queue and the spool hold. In both it lies as
//
//	length u32 | crc u32 | mark u64 | stamp 27 | len(session) u8 | len(type) u8 | session | type | data
//
// little-endian; length counts what follows crc, and crc (Castagnoli) is over it.
type record struct {
	mark                       uint64
	stamp, session, kind, data []byte
}

const (
	recordHead  = 8
	recordFixed = 8 + len(event.TimeFormat) + 2 // after the head
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendRecord needs a stamp in event.TimeFormat, and names of at most 255 bytes.
func appendRecord(dst []byte, mark uint64, stamp []byte, session, kind string, data []byte) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, recordHead)...)
	dst = binary.LittleEndian.AppendUint64(dst, mark)
	dst = append(dst, stamp...)
	dst = append(dst, byte(len(session)), byte(len(kind)))
	dst = append(append(append(dst, session...), kind...), data...)
	body := dst[start+recordHead:]
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(body)))
	binary.LittleEndian.PutUint32(dst[start+4:], crc32.Checksum(body, castagnoli))
	return dst
}

// nextRecord takes the first record off b. It trusts nothing: ok is false where none stands there whole. Its parts are
// slices of b.
func nextRecord(b []byte) (r record, rest []byte, ok bool) {
	if len(b) < recordHead+recordFixed {
		return r, nil, false
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n < recordFixed || n > len(b)-recordHead {
		return r, nil, false
	}
	body, rest := b[recordHead:recordHead+n], b[recordHead+n:]
	if binary.LittleEndian.Uint32(b[4:]) != crc32.Checksum(body, castagnoli) {
		return r, nil, false
	}
	r.mark = binary.LittleEndian.Uint64(body)
	body = body[8:]
	r.stamp, body = body[:len(event.TimeFormat)], body[len(event.TimeFormat):]
	session, kind := int(body[0]), int(body[1])
	if body = body[2:]; len(body) < session+kind {
		return r, nil, false
	}
	r.session, r.kind, r.data = body[:session], body[session:session+kind], body[session+kind:]
	return r, rest, true
}
