package dial

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	nethttp "net/http"
	"net/url"
	"time"
)

// Tunnel opens a connection to address, "host:port", by the way that an https request to it would take: through the
// proxy of the environment with CONNECT, or directly. It is for protocols that net/http doesn't speak. The connection
// is plain: TLS to the server comes on top. Proxies with socks5 addresses are refused.
func (d *Dialer) Tunnel(ctx context.Context, address string) (net.Conn, error) {
	r := &nethttp.Request{Method: nethttp.MethodConnect, URL: &url.URL{Scheme: "https", Host: address}}
	proxy, err := d.proxy(r.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	if proxy == nil {
		return d.DialContext(ctx, "tcp", address)
	}
	if _, err := d.beforeConnect(ctx, proxy, address); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*connectTimeout)
	defer cancel()
	conn, err := d.dialProxy(ctx, proxy)
	if err != nil {
		return nil, err
	}
	tunnel, err := connectThrough(ctx, conn, proxy.User, address)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return tunnel, nil
}

// dialProxy shows the proxy no file of TLS: those are for the server.
func (d *Dialer) dialProxy(ctx context.Context, proxy *url.URL) (net.Conn, error) {
	port := map[string]string{"http": "80", "https": "443"}[proxy.Scheme]
	if port == "" {
		return nil, fmt.Errorf("a proxy with a %s address can't be used for this transport; use an http:// one", proxy.Scheme)
	}
	if p := proxy.Port(); p != "" {
		port = p
	}
	conn, err := d.dial(Configured)(ctx, "tcp", net.JoinHostPort(proxy.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("the proxy can't be reached: %w", err)
	}
	if proxy.Scheme == "http" {
		return conn, nil
	}
	secure := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: proxy.Hostname()})
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("the proxy's certificate: %w", err)
	}
	return secure, nil
}

func connectThrough(ctx context.Context, conn net.Conn, user *url.Userinfo, address string) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	req := &nethttp.Request{Method: nethttp.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: nethttp.Header{}}
	if user != nil {
		password, _ := user.Password()
		basic := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
		req.Header.Set("Proxy-Authorization", "Basic "+basic)
	}
	if err := req.Write(conn); err != nil {
		return nil, because(ctx, err)
	}
	bounded := &io.LimitedReader{R: conn, N: maxHeader}
	in := bufio.NewReader(bounded)
	res, err := nethttp.ReadResponse(in, req)
	if err != nil {
		return nil, because(ctx, err)
	}
	if res.StatusCode != nethttp.StatusOK {
		return nil, fmt.Errorf("the proxy refuses to connect: %d %s", res.StatusCode, nethttp.StatusText(res.StatusCode))
	}
	if !stop() {
		return nil, ctx.Err()
	}
	bounded.N = math.MaxInt64
	return &tunnelled{conn, in}, nil
}

func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("no answer of the proxy: %w", err)
}

// tunnelled also reads what came together with the proxy's answer.
type tunnelled struct {
	net.Conn
	in *bufio.Reader
}

func (t *tunnelled) Read(b []byte) (int, error) { return t.in.Read(b) }
