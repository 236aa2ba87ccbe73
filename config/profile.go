package config

import (
	"slices"
	"strings"

	"github.com/usher-mcp/usher/internal/lifecycle"
)

// The values of Profile.Name.
const (
	ProfileMinimal      = "minimal"
	ProfileProfessional = "professional"
	ProfileEnterprise   = "enterprise" // the default
)

// The values of Profile.Cache.
const (
	CacheMemory = "memory" // lists are forgotten when the host ends
	CacheDisk   = "disk"
)

// Profile is a set of values that a user chooses by one name (A6). Its numbers are in each Server's Lifecycle.
type Profile struct {
	Name       string
	Transports []string // those that a server may have; an entry of another one is a Problem
	Cache      string   // where lists are kept: CacheMemory or CacheDisk
}

func profileNamed(name string) Profile {
	switch name {
	case ProfileMinimal:
		return Profile{name, []string{TransportStdio}, CacheMemory}
	case ProfileProfessional:
		return Profile{name, []string{TransportStdio, TransportHTTP, TransportSSE}, CacheMemory}
	}
	return Profile{ProfileEnterprise, []string{TransportStdio, TransportHTTP, TransportSSE, TransportWS, TransportGRPC}, CacheDisk}
}

func presetOf(profile string) lifecycle.Settings {
	switch profile {
	case ProfileMinimal:
		return lifecycle.Minimal()
	case ProfileProfessional:
		return lifecycle.Professional()
	}
	return lifecycle.Default()
}

// readBase reads what all entries start from, wherever it stands in the file.
func (r *reader) readBase(fields []field) {
	at := func(name string) (field, bool) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			return field{}, false
		}
		return fields[i], true
	}
	inherited := false
	if b := r.from.Base; b != nil && b.file != nil {
		r.cfg.Profile = b.Profile
		r.base, r.preset = b.file.base, b.file.preset
		inherited = true
	}
	f, ok := at("profile")
	if ok {
		r.readProfile(f)
	}
	if ok || !inherited {
		r.base = presetOf(r.cfg.Profile.Name)
		r.preset = complete(r.base)
	}
	if f, ok := at("defaults"); ok {
		r.readDefaults(f)
		r.cfg.file.said["defaults"] = true
	}
	r.cfg.file.base, r.cfg.file.preset = r.base, r.preset
}

// complete fills in what a preset has turned off, for an entry that turns it on.
func complete(s lifecycle.Settings) lifecycle.Settings {
	all := lifecycle.Default()
	if s.Breaker.Failures == 0 {
		s.Breaker = all.Breaker
	}
	if s.Pool.Max == 0 {
		s.Pool = all.Pool
	}
	return s
}

func (r *reader) readProfile(f field) {
	known := []string{ProfileMinimal, ProfileProfessional, ProfileEnterprise}
	if f.value.Value.Kind() != '"' || !slices.Contains(known, textOf(f.value)) {
		r.bad(f, `expected "minimal", "professional" or "enterprise"; enterprise is in force`)
		return
	}
	r.cfg.Profile = profileNamed(textOf(f.value))
	r.cfg.file.said["profile"] = true
}

// readDefaults leaves out what can't be used.
func (r *reader) readDefaults(f field) {
	members, _ := r.members(f, `{"callTimeout": "2m"}`)
	t := &tuner{reader: r, set: &r.base, preset: r.preset}
	limit := f
	for _, m := range members {
		if m.name == "callLimit" {
			limit = m
		}
		if !t.read(m) {
			r.report(m.key, m.path, unknownDefault(m.name))
		}
	}
	t.settle(limit)
}

func unknownDefault(name string) string {
	if own := serverFields(); slices.Contains(own, name) || slices.Contains(bearerFields, name) {
		return "ignored: this belongs into each server's own entry"
	}
	if name == "timeout" {
		return instead("callTimeout")
	}
	return unknown(name, tuneFields)
}

// tune checks what the lifecycle's fields say together, and together with the transport.
func (e *entry) tune() {
	t, s := e.tuner, &e.server
	s.StartTimeout = t.start
	if t.call > 0 || s.CallTimeout == 0 {
		s.CallTimeout = t.call
	}
	t.call = s.CallTimeout // which may come from timeout
	limit := e.has["callLimit"]
	t.settle(limit)
	e.broken = e.broken || t.broken
	if s.Transport == "" {
		return
	}
	if s.Transport == TransportStdio {
		e.ignore("reconnect", `a program is started again; write "restart"`)
		e.ignore("pool", "a program has one connection")
		if t.start == 0 && runsPackage(s.Command, s.Args) {
			s.Lifecycle.FirstConnect = max(s.Lifecycle.FirstConnect, runnerStart)
		}
	} else {
		e.ignore("restart", `usher doesn't start this server; write "reconnect"`)
	}
	if p := e.cfg.Profile; !s.Disabled && !slices.Contains(p.Transports, s.Transport) {
		e.fail(e.at.key, e.at.path, "is of type "+s.Transport+", and the profile "+p.Name+" has only "+strings.Join(p.Transports, ", ")+
			`; change "profile", or disable the server`)
	}
}

// ignore reports a field that does nothing for the server's transport.
func (e *entry) ignore(name, why string) {
	if f, ok := e.has[name]; ok {
		e.report(f.key, f.path, "ignored: "+why)
	}
}
