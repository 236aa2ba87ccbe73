package eventstream

import (
	"io"
	"strings"
	"testing"
)

func BenchmarkReader(b *testing.B) {
	for name, in := range map[string]string{
		"small": strings.Repeat("event: message\nid: 12\ndata: "+strings.Repeat("x", 200)+"\n\n", 1000),
		"large": "data: " + strings.Repeat("x", 8<<20) + "\n\n",
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				r := NewReader(strings.NewReader(in), 16<<20)
				r.IDs = true
				for {
					if _, err := r.Next(); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
				r.Close()
			}
		})
	}
}
