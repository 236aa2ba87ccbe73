package floor

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
)

// ServeHTTP sends every request on l on to upstream, with its MCP headers,
// and copies the answer back as it comes, event streams included. All methods
// pass, and upstream is the whole URL: the path of the request is not looked
// at. It returns nil when ctx is done, after it has closed l.
func ServeHTTP(ctx context.Context, l net.Listener, upstream *url.URL) error {
	t := &http.Transport{
		MaxIdleConnsPerHost: 1024, // one for each call in flight: none is dialled anew
		DisableCompression:  true, // bytes pass as they are
	}
	defer t.CloseIdleConnections()
	return serve(ctx, l, &relay{
		url:       upstream,
		transport: t,
		buffers:   sync.Pool{New: func() any { return new([32 << 10]byte) }},
	}, nil)
}

type relay struct {
	url       *url.URL
	transport *http.Transport
	buffers   sync.Pool // of *[32 << 10]byte
}

var _ http.Handler = (*relay)(nil)

// Canonical names: the maps are read and written without a conversion.
var (
	requestHeaders = [...]string{
		"Accept", "Authorization", "Content-Type", "Last-Event-Id", "Mcp-Method",
		"Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id",
	}
	responseHeaders = [...]string{"Content-Type", "Mcp-Session-Id", "Www-Authenticate"}
)

func (p *relay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, ok := readBody(w, r)
	if !ok {
		return
	}
	out, err := http.NewRequestWithContext(r.Context(), r.Method, "", bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out.URL = p.url
	out.Host = p.url.Host
	for _, name := range requestHeaders {
		if v := r.Header[name]; v != nil {
			out.Header[name] = v
		}
	}
	resp, err := p.transport.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	h := w.Header()
	for _, name := range responseHeaders {
		if v := resp.Header[name]; v != nil {
			h[name] = v
		}
	}
	if resp.ContentLength >= 0 {
		h["Content-Length"] = resp.Header["Content-Length"]
		w.WriteHeader(resp.StatusCode)
		io.Copy(w, resp.Body) // net/http cuts the connection where it falls short
		return
	}
	w.WriteHeader(resp.StatusCode)
	flusher := http.NewResponseController(w)
	if r.Method == http.MethodGet {
		flusher.Flush() // a stream that may long be quiet; other answers come with their headers
	}
	p.stream(w, flusher, resp.Body)
}

// stream copies an answer of unknown length, each piece as soon as it comes.
func (p *relay) stream(w io.Writer, flusher *http.ResponseController, from io.Reader) {
	buf := p.buffers.Get().(*[32 << 10]byte)
	defer p.buffers.Put(buf)
	for {
		n, err := from.Read(buf[:])
		if n > 0 {
			if _, werr := w.Write(buf[:n]); werr != nil {
				return
			}
			flusher.Flush()
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler) // a cut answer must not look whole
		}
	}
}
