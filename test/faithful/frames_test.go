package faithful

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
)

// serveWebSocket speaks RFC 6455 without a library, and cuts its messages into fragments.
func serveWebSocket(s *script) func(net.Conn) {
	return func(c net.Conn) {
		r := bufio.NewReader(c)
		req, _, ok := readRequest(r)
		if !ok {
			return
		}
		sum := sha1.Sum([]byte(req.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: mcp\r\n"+
			"Sec-WebSocket-Accept: "+base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n")
		var message []byte
		for {
			head, payload, err := readFrame(r)
			if err != nil {
				return
			}
			switch head & 0x0f {
			case 8:
				_, _ = c.Write(frame(0x88, payload))
				return
			case 9:
				_, _ = c.Write(frame(0x8a, payload))
				continue
			}
			if message = append(message, payload...); head&0x80 == 0 {
				continue
			}
			for _, text := range s.reply(message) {
				half := len(text) / 2 // maybe within a character
				_, _ = c.Write(append(frame(0x01, []byte(text[:half])), frame(0x80, []byte(text[half:]))...))
			}
			message = nil
		}
	}
}

// readFrame reads a client's frame, which is masked.
func readFrame(r io.Reader) (head byte, payload []byte, err error) {
	var b [14]byte
	if _, err = io.ReadFull(r, b[:2]); err != nil {
		return 0, nil, err
	}
	n := uint64(b[1] & 0x7f)
	switch n {
	case 126:
		_, err = io.ReadFull(r, b[2:4])
		n = uint64(binary.BigEndian.Uint16(b[2:]))
	case 127:
		_, err = io.ReadFull(r, b[2:10])
		n = binary.BigEndian.Uint64(b[2:])
	}
	if err != nil {
		return 0, nil, err
	}
	if _, err = io.ReadFull(r, b[10:]); err != nil {
		return 0, nil, err
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(r, payload)
	for i := range payload {
		payload[i] ^= b[10+i%4]
	}
	return b[0], payload, err
}

func frame(head byte, payload []byte) []byte {
	b := []byte{head}
	switch n := len(payload); {
	case n < 126:
		b = append(b, byte(n))
	case n <= 0xffff:
		b = binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
	return append(b, payload...)
}

// serveGRPC speaks the framing of gRPC and of the one field of a Frame over net/http, without a gRPC library.
func serveGRPC(t testing.TB, s *script) string {
	t.Helper()
	l := listen(t, "tcp", "127.0.0.1:0")
	server := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		defer w.Header().Set("Grpc-Status", "0")
		_ = http.NewResponseController(w).Flush()
		for {
			message, err := readGRPC(r.Body)
			if err != nil {
				return
			}
			for _, text := range s.reply(message) {
				_, _ = w.Write(grpcFrame(text))
			}
			_ = http.NewResponseController(w).Flush()
		}
	})}
	server.Protocols.SetUnencryptedHTTP2(true)
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() { _ = server.Close(); wg.Wait() })
	return "grpc://" + l.Addr().String()
}

func readGRPC(r io.Reader) ([]byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(head[1:]))
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	n, size := binary.Uvarint(b[1:])
	if b[0] != 0x0a || int(n) != len(b)-1-size {
		return nil, io.ErrUnexpectedEOF
	}
	return b[1+size:], nil
}

func grpcFrame(text string) []byte {
	inner := binary.AppendUvarint([]byte{0x0a}, uint64(len(text)))
	b := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(inner)+len(text)))
	return append(append(b, inner...), text...)
}
