package client

import (
	"net"
	"testing"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/transport/http"
)

// D6: what a person reads of a server that isn't there is one clear sentence, and the operator reads nothing twice.
func TestUnreachableReads(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	way, err := http.New(http.Options{URL: "http://" + address})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Connect(t.Context(), way, Options{Name: "notes"})
	want := "server notes can't be reached: " + address + ": connection refused"
	if got := fault.Of(err).Text(fault.English); got != want {
		t.Errorf("a person reads %q, want %q", got, want)
	}
	if got := err.Error(); got != want {
		t.Errorf("an operator reads %q, want %q", got, want)
	}
}
