package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/usher-mcp/usher/mcp"
)

// pipes is the server over stdio.
type pipes struct {
	core *core

	mu    sync.Mutex // held while writing
	fault string     // what happens to the next answer of a call
	left  int        // to how many
	kept  [][]byte   // answers that wait to be sent in another order
}

// serve returns when the input ends. Each request runs by itself.
func (p *pipes) serve() error {
	for in := bufio.NewReaderSize(os.Stdin, 1<<16); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			p.closedIn()
			return nil
		}
		m, err := mcp.Parse(bytes.TrimSpace(line))
		if err != nil || !m.IsRequest() {
			continue
		}
		go func() {
			answer, err := p.core.Handle(context.Background(), m, mcp.Nobody)
			if err == nil {
				p.answer(answer.AppendTo(nil), m)
			}
		}()
	}
}

// closedIn lives on for a while if the server closed its own input: a peer has to notice by itself.
func (p *pipes) closedIn() {
	p.mu.Lock()
	own := p.fault == "closein"
	p.mu.Unlock()
	if own {
		time.Sleep(time.Minute)
	}
}

func (p *pipes) answer(line []byte, req *mcp.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 || req.Method != mcp.MethodCallTool {
		p.write(line, '\n')
		return
	}
	p.left--
	p.spoil(line, req)
}

// spoil needs p.mu.
func (p *pipes) spoil(line []byte, req *mcp.Message) {
	switch p.fault {
	case "truncate":
		p.write(line[:len(line)/2])
		os.Exit(7)
	case "sever":
		p.write(line[:len(line)/2])
		_ = os.Stdout.Close()
	case "huge":
		p.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"x":"`, req.ID))
		for part := bytes.Repeat([]byte("x"), 1<<20); p.left < 17; p.left++ {
			p.write(part)
		}
		p.left = 0
		p.write([]byte(`"}}`), '\n')
	case "garbage":
		p.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"a":1,"a":2}}`, req.ID), '\n')
	case "twice":
		p.write(line, '\n')
		p.write(line, '\n')
		p.write([]byte(`{"jsonrpc":"2.0","id":987654321,"result":{}}`), '\n')
	case "reorder":
		p.kept = append(p.kept, line)
		if p.left == 0 {
			p.release()
		}
	}
}

// release sends what was kept, the last first. It needs p.mu.
func (p *pipes) release() {
	for i := len(p.kept) - 1; i >= 0; i-- {
		p.write(p.kept[i], '\n')
	}
	p.kept = nil
}

func (p *pipes) write(line []byte, more ...byte) { _, _ = os.Stdout.Write(append(line, more...)) }

// act does what only a server of pipes can; false if it is no order of that kind.
func (p *pipes) act(order string, n int) bool {
	if order == "stray" || order == "stderr" {
		p.flood(order, n)
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch order {
	case "truncate", "sever", "huge", "garbage", "twice":
		p.fault, p.left = order, 1
	case "reorder":
		p.fault, p.left = order, n
		time.AfterFunc(50*time.Millisecond, func() { // whether so many came or not
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.fault == order {
				p.left = 0
			}
			p.release()
		})
	case "closein":
		p.fault = order
		if null, err := os.Open(os.DevNull); err == nil {
			_ = syscall.Dup3(int(null.Fd()), 0, 0) // what reads now would keep the pipe open over a Close
		}
	case "closeout":
		_ = os.Stdout.Close()
	default:
		return false
	}
	return true
}

// flood writes n KiB that are no messages, and says that its tools changed.
func (p *pipes) flood(order string, n int) {
	out, line := os.Stderr, append(bytes.Repeat([]byte("="), 1023), '\n')
	if order == "stray" {
		out = os.Stdout
	}
	for i := range n {
		p.mu.Lock()
		_, _ = out.Write(line)
		if i%64 == 0 {
			p.write([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`), '\n')
		}
		p.mu.Unlock()
	}
}
