package dial

import (
	"context"
	"errors"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestTransportSpeaksBothVersions(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		server := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
			_, _ = io.WriteString(w, r.Proto)
		}))
		server.EnableHTTP2 = h2
		server.StartTLS()
		tr := Transport()
		tr.TLSClientConfig = server.Client().Transport.(*nethttp.Transport).TLSClientConfig.Clone()
		tr.TLSClientConfig.NextProtos = nil
		res, err := (&nethttp.Client{Transport: tr}).Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		tr.CloseIdleConnections()
		server.Close()
		if got := string(body) == "HTTP/2.0"; got != h2 {
			t.Errorf("HTTP/2 = %v, want %v: %s", got, h2, body)
		}
	}
}

func TestTransportBoundsHeaders(t *testing.T) {
	server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("X-Large", strings.Repeat("x", 2*maxHeader))
	}))
	defer server.Close()
	tr := Transport()
	defer tr.CloseIdleConnections()
	if res, err := (&nethttp.Client{Transport: tr}).Get(server.URL); err == nil {
		res.Body.Close()
		t.Fatal("headers of 512 KiB were accepted")
	}
}

// A server that says nothing is left to the context: no time-out of the transport ends a long call.
func TestTransportWaitsForTheContext(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) { <-release }))
	defer server.Close()
	defer close(release)
	tr := Transport()
	defer tr.CloseIdleConnections()
	if tr.ResponseHeaderTimeout != 0 {
		t.Errorf("ResponseHeaderTimeout = %v", tr.ResponseHeaderTimeout)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	req, _ := nethttp.NewRequestWithContext(ctx, "GET", server.URL, nil)
	res, err := (&nethttp.Client{Transport: tr}).Do(req)
	if err == nil {
		res.Body.Close()
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v", err)
	}
}
