package sqlite

import (
	"os"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stamp is a number that all processes that have a ledger open share, and that grows after each change of its marks: so
// they learn for nothing that nothing changed. A file that can't be mapped gives another number each time.
type stamp struct {
	shared []byte // 8 bytes, mapped; nil: there are none
	own    atomic.Uint64
}

const stampSize = 8

func openStamp(path string) *stamp {
	s := &stamp{}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return s
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() < stampSize && f.Truncate(stampSize) != nil {
		return s
	}
	if b, err := unix.Mmap(int(f.Fd()), 0, stampSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		s.shared = b
	}
	return s
}

func (s *stamp) word() *uint64 { return (*uint64)(unsafe.Pointer(unsafe.SliceData(s.shared))) } // a page is aligned

func (s *stamp) read() (n uint64) {
	if s.shared == nil || !touch(func() { n = atomic.LoadUint64(s.word()) }) {
		return s.own.Add(1) | 1<<63
	}
	return n
}

func (s *stamp) turn() {
	if s.shared != nil {
		_ = touch(func() { atomic.AddUint64(s.word(), 1) }) // who can't read it either looks each time
	}
}

// touch calls f, which uses mapped memory, and reports false where another program has cut the file off.
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
