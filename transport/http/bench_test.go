package http

import (
	"io"
	nethttp "net/http"
	"testing"

	"github.com/usher-mcp/usher/mcp"
)

// The server's part of the allocations is in the numbers: it runs in the same process. Beside them stands what net/http
// alone takes for the same POST.
func BenchmarkCall(b *testing.B) {
	for name, stream := range map[string]bool{"json": false, "events": true} {
		b.Run(name, func(b *testing.B) {
			c := connect(b, Options{URL: serve(b, fixedAnswer(stream)).URL})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Handle(b.Context(), call(7), mcp.Nobody); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("net/http", func(b *testing.B) {
		c := connect(b, Options{URL: serve(b, fixedAnswer(false)).URL})
		b.ReportAllocs()
		for b.Loop() {
			r := c.template.WithContext(b.Context())
			r.Header = nethttp.Header{}
			res, err := c.client.Do(r)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
	})
}

func fixedAnswer(stream bool) nethttp.HandlerFunc {
	answer := answerText("7")
	return func(w nethttp.ResponseWriter, r *nethttp.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if stream {
			w.Header().Set("Content-Type", typeEvents)
			_, _ = io.WriteString(w, "data: "+answer+"\n\n")
			return
		}
		writeJSON(w, 200, answer)
	}
}
