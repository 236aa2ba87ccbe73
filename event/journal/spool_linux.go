package journal

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// spool is where the queue lies while durability is process: a file that is mapped into memory. What stands there
// survives the death of this process without a system call. The next start brings it into the log.
//
// Its first page says what needs no bringing: all events up to a mark are in the files, up to a place in one of them.
// Two parts for records follow. Each number is stored whole, so that a kill leaves the old or the new one.
type spool struct {
	f     *os.File
	m     []byte
	parts [2]part
}

const (
	spoolMagic  = "usherspl"
	spoolPage   = 4096
	spoolPart   = 1 << 20
	spoolSize   = spoolPage + 2*spoolPart
	spoolTurn   = 8  // which of the two places holds
	spoolPlaces = 64 // each is mark, rotation, size
	spoolParts  = 256
)

// part is one half of the spool; commit says how much of it counts.
type part struct {
	length *uint64
	data   []byte // len 0
}

// commit reports whether that succeeded.
func (p *part) commit(n int) bool {
	return touch(func() { atomic.StoreUint64(p.length, uint64(n)) })
}

// touch calls f, which reads or writes mapped memory, and reports false where the kernel answered with SIGBUS: another
// program has cut the spool off, or the file system has no room for a page although it promised so, as those that write
// each block to a new place do. Without it that would end the process.
func touch(f func()) (ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			if _, isFault := p.(interface{ Addr() uintptr }); !isFault {
				panic(p)
			}
			ok = false
		}
	}()
	f()
	return true
}

func spoolName(group string) string { return group + ".spool" }

// newSpool makes the spool of a group of files, with all its room on the disk. It is nil where the file system can't
// promise that room: then the queue lies in memory alone.
func newSpool(dir, group string) *spool {
	f, err := os.OpenFile(filepath.Join(dir, spoolName(group)), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil
	}
	s := &spool{f: f}
	if err = unix.Fallocate(int(f.Fd()), 0, 0, spoolSize); err == nil {
		s.m, err = unix.Mmap(int(f.Fd()), 0, spoolSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		s.remove()
		return nil
	}
	_ = unix.Madvise(s.m, unix.MADV_RANDOM) // else the first byte costs as much as the whole file: large pages are read in
	for i := range s.parts {
		at := spoolPage + i*spoolPart
		s.parts[i] = part{s.word(spoolParts + i*64), s.m[at : at : at+spoolPart]}
	}
	copy(s.m, spoolMagic)
	return s
}

func (s *spool) word(at int) *uint64 { return (*uint64)(unsafe.Pointer(&s.m[at])) }

// written notes that all events up to mark are in the files: the last of them ends at size in the file of rotation. Where
// it can't, the next start finds out from the files.
func (s *spool) written(mark uint64, rotation int, size int64) {
	touch(func() { s.note(mark, rotation, size) })
}

func (s *spool) note(mark uint64, rotation int, size int64) {
	turn := 1 - atomic.LoadUint64(s.word(spoolTurn))&1
	for i, v := range [...]uint64{mark, uint64(rotation), uint64(size)} {
		atomic.StoreUint64(s.word(spoolPlaces+int(turn)*32+i*8), v)
	}
	atomic.StoreUint64(s.word(spoolTurn), turn)
}

// close keeps the file for the next start. Nothing of the spool may be used after it.
func (s *spool) close() {
	if s.m != nil {
		_ = unix.Munmap(s.m)
		s.m = nil
	}
	s.f.Close()
}

func (s *spool) remove() {
	_ = os.Remove(s.f.Name())
	s.close()
}

// leftover is what the spool of a dead process holds.
type leftover struct {
	mark     uint64 // all up to it are in the files,
	rotation int    // up to
	size     int64  // this place
	records  []record
}

// readSpool reads the spool of a dead process. A spool that isn't whole, as after a crash of the machine, yields what
// can be told.
func readSpool(name string) (leftover, error) {
	var l leftover
	f, err := os.Open(name)
	if err != nil {
		return l, err
	}
	defer f.Close()
	b := make([]byte, spoolPage)
	info, err := f.Stat()
	if err != nil {
		return l, err
	}
	if n, _ := f.ReadAt(b, 0); n < spoolPage || info.Size() < spoolSize || string(b[:len(spoolMagic)]) != spoolMagic {
		return l, nil // killed while it was made
	}
	u64 := func(at int) uint64 { return binary.NativeEndian.Uint64(b[at:]) }
	at := spoolPlaces + int(u64(spoolTurn)&1)*32
	l.mark, l.rotation, l.size = u64(at), int(u64(at+8)), int64(u64(at+16))
	parts := [2][]record{}
	for i := range parts {
		rest := make([]byte, min(u64(spoolParts+i*64), spoolPart))
		n, _ := f.ReadAt(rest, int64(spoolPage+i*spoolPart))
		for rest = rest[:n]; ; {
			more, ok := nextGroup(rest, func(r record) { parts[i] = append(parts[i], r) })
			if !ok {
				break
			}
			rest = more
		}
	}
	if len(parts[0]) > 0 && len(parts[1]) > 0 && parts[0][0].mark > parts[1][0].mark {
		parts[0], parts[1] = parts[1], parts[0]
	}
	l.records = append(parts[0], parts[1]...)
	return l, nil
}

// more counts the records that the spool doesn't know to be in the files.
func (l *leftover) more() (n int) {
	for _, r := range l.records {
		if r.mark > l.mark {
			n++
		}
	}
	return n
}
