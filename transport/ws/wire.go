package ws

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// writePiece is how many bytes must get through within one write time-out.
const writePiece = 64 << 10

// wire is the connection below a WebSocket. It counts what goes by, and can be cut at any time: websocket.Conn waits for
// a close handshake without a bound where the peer has promised more of a message.
type wire struct {
	rwc      io.ReadWriteCloser
	patience time.Duration // for each piece that is written; 0: no bound
	heard    atomic.Int64  // bytes
	wrote    atomic.Int64  // bytes
	once     sync.Once
}

var _ io.ReadWriteCloser = (*wire)(nil)

func (w *wire) Read(b []byte) (int, error) {
	n, err := w.rwc.Read(b)
	w.heard.Add(int64(n))
	return n, err
}

func (w *wire) Write(b []byte) (n int, err error) {
	for {
		piece := b[n:min(n+writePiece, len(b))]
		w.limit()
		m, err := w.rwc.Write(piece)
		n += m
		w.wrote.Add(int64(m))
		if err != nil || n == len(b) {
			return n, err
		}
	}
}

func (w *wire) limit() {
	if c, ok := w.rwc.(net.Conn); ok && w.patience > 0 {
		_ = c.SetWriteDeadline(time.Now().Add(w.patience))
	}
}

// Close cuts the connection. What is read or written just now fails.
func (w *wire) Close() (err error) {
	w.once.Do(func() { err = w.rwc.Close() })
	return err
}
