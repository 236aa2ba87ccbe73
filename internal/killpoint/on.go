//go:build killpoints

package killpoint

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

type points struct {
	mu   sync.Mutex
	name string
	nth  int
	list string
	hits map[string]int
}

var armed = sync.OnceValue(func() *points {
	p := &points{nth: 1, list: os.Getenv("USHER_KILL_LIST"), hits: make(map[string]int)}
	name, nth, ok := strings.Cut(os.Getenv("USHER_KILL_AT"), ":")
	p.name = name
	if n, err := strconv.Atoi(nth); ok && err == nil {
		p.nth = n
	}
	return p
})

// At kills this process if it is armed for name and this is the hit that was asked for.
func At(name string) {
	p := armed()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hits[name]++
	if p.hits[name] == 1 && p.list != "" {
		p.note(name)
	}
	if name == p.name && p.hits[name] == p.nth {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way; no further instruction of the caller may run
	}
}

// Armed reports whether the process is to die at this point, or to list it: then the caller takes the way through it.
func Armed(name string) bool {
	p := armed()
	return p.name == name || p.list != ""
}

func (p *points) note(name string) {
	f, err := os.OpenFile(p.list, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic("USHER_KILL_LIST: " + err.Error())
	}
	defer f.Close()
	if _, err := f.WriteString(name + "\n"); err != nil {
		panic("USHER_KILL_LIST: " + err.Error())
	}
}
