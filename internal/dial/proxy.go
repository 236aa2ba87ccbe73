package dial

import (
	"context"
	"errors"
	"net"
	nethttp "net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
)

// configured is the transport of a server that the user configured. Its one dial function reaches proxies as well as
// servers: both are the user's word.
func (d *Dialer) configured() *nethttp.Transport {
	t := d.base(d.DialContext)
	t.Proxy = d.proxyFor
	t.GetProxyConnectHeader = d.beforeConnect
	return t
}

// guarded is the transport for Named. A proxy is the user's word and may be private, what is behind it may not: so one
// pool reaches servers and another reaches proxies, and no address decides which.
type guarded struct {
	proxy           func(*nethttp.Request) (*url.URL, error)
	direct, proxied *nethttp.Transport
}

var _ nethttp.RoundTripper = (*guarded)(nil)

func (d *Dialer) named() *guarded {
	g := &guarded{proxy: d.proxy, direct: d.base(d.DialContext), proxied: d.base(d.dial(Configured))}
	g.proxied.GetProxyConnectHeader = d.beforeConnect
	g.proxied.Proxy = func(r *nethttp.Request) (*url.URL, error) {
		u, err := d.proxyFor(r)
		if u == nil && err == nil {
			err = errors.New("the choice of a proxy changed within a request")
		}
		return u, err
	}
	return g
}

func (g *guarded) RoundTrip(r *nethttp.Request) (*nethttp.Response, error) {
	u, err := g.proxy(r)
	switch {
	case err != nil:
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	case u == nil:
		return g.direct.RoundTrip(r)
	}
	return g.proxied.RoundTrip(r)
}

func (g *guarded) CloseIdleConnections() {
	g.direct.CloseIdleConnections()
	g.proxied.CloseIdleConnections()
}

// proxyFor chooses the proxy of a request. What is sent through it without CONNECT is checked here, all else in
// beforeConnect, once for each connection.
func (d *Dialer) proxyFor(r *nethttp.Request) (*url.URL, error) {
	u, err := d.proxy(r)
	if u == nil || err != nil {
		return nil, err
	}
	if err := d.usable(u); err != nil {
		return nil, err
	}
	if r.URL.Scheme == "https" && (u.Scheme == "http" || u.Scheme == "https") {
		return u, nil
	}
	return u, d.checkName(r.Context(), r.URL.Hostname())
}

// usable refuses a proxy that would get the TLS settings of the server: net/http has one set for both.
func (d *Dialer) usable(proxy *url.URL) error {
	if proxy.Scheme == "https" && d.o.TLS != (TLS{}) {
		return errors.New("a server with tls settings can't be reached through a proxy whose own address is https; " +
			"use an http:// proxy, or name the server in NO_PROXY")
	}
	return nil
}

func (d *Dialer) beforeConnect(ctx context.Context, _ *url.URL, target string) (nethttp.Header, error) {
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		host = target
	}
	return nil, d.checkName(ctx, host)
}

// checkName looks a host up before its name is handed to a proxy, and refuses it if any of its addresses is refused. The
// proxy looks it up once more: if its answer differs, that isn't seen here.
func (d *Dialer) checkName(ctx context.Context, host string) error {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if a, err := netip.ParseAddr(host); err == nil {
		return d.o.Guard.check(a, d.o.Allow)
	}
	switch {
	case endsInNumber(host):
		return &RefusedError{Why: "an IP address in an odd spelling; write it as 192.0.2.1"}
	case d.o.Guard == Configured:
		return d.checkConfigured(ctx, host)
	case host == "localhost" || strings.HasSuffix(host, ".localhost"):
		return &RefusedError{Why: "localhost, and it wasn't you who configured it"}
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	addrs, err := d.o.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return &RefusedError{Why: "a name that can't be looked up here isn't handed to a proxy"}
	}
	return d.checkAll(addrs)
}

func (d *Dialer) checkAll(addrs []netip.Addr) error {
	for _, a := range addrs {
		if err := d.o.Guard.check(a, d.o.Allow); err != nil {
			return err
		}
	}
	return nil
}

// checkConfigured lets a name pass that can't be looked up: there are networks where only the proxy can. Since asking may
// take its time there, it isn't asked again for a while.
func (d *Dialer) checkConfigured(ctx context.Context, host string) error {
	if d.passed.has(host) {
		return nil
	}
	lookup, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	if addrs, err := d.o.Resolver.LookupNetIP(lookup, "ip", host); err == nil {
		if err := d.checkAll(addrs); err != nil {
			return err
		}
	}
	if ctx.Err() == nil {
		d.passed.add(host)
	}
	return ctx.Err()
}

const (
	lookupTimeout = time.Second
	passTime      = time.Minute
)

// pass is the name that was found good last.
type pass struct {
	mu    sync.Mutex
	host  string
	until time.Time
}

func (p *pass) has(host string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.host == host && time.Now().Before(p.until)
}

func (p *pass) add(host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.host, p.until = host, time.Now().Add(passTime)
}

// endsInNumber finds what some resolvers take for an IPv4 address: 127.1, 2130706433, 0x7f000001, 0177.0.0.1.
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}
