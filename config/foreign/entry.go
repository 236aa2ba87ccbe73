package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/usher-mcp/usher/config"
)

// JSON is the entry as it stands under mcpServers.
func (e Entry) JSON() json.RawMessage {
	var b bytes.Buffer
	add := func(name string, value any) {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(name) // texts can always be written
		b.WriteByte(':')
		_ = enc.Encode(value)
	}
	b.WriteByte('{')
	for _, f := range []struct{ name, text string }{
		{"type", e.Type}, {"command", e.Command}, {"url", e.URL}, {"cwd", e.Cwd}, {"startTimeout", shown(e.StartTimeout)}, {"callTimeout", shown(e.CallTimeout)},
	} {
		if f.text != "" {
			add(f.name, f.text)
		}
		switch {
		case f.name == "command" && len(e.Args) > 0:
			add("args", e.Args)
		case f.name == "cwd" && len(e.Env) > 0:
			add("env", pairs(e.Env))
		case f.name == "url" && len(e.Headers) > 0:
			add("headers", pairs(e.Headers))
		}
	}
	if e.Disabled {
		add("disabled", true)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// pairs keep their order.
type pairs []Pair

// MarshalJSON implements json.Marshaler.
func (p pairs) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, kv := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := errors.Join(enc.Encode(kv.Name), b.WriteByte(':'), enc.Encode(kv.Value)); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func shown(d time.Duration) string {
	if d == 0 {
		return ""
	}
	s := d.Round(time.Millisecond).String()
	for _, zero := range []string{"m0s", "h0m"} { // 2m0s is 2m
		if rest, ok := strings.CutSuffix(s, zero); ok {
			s = rest + zero[:1]
		}
	}
	return s
}

// usher reports whether the entry is one of usher itself, such as usher connect writes: it must not be behind itself.
func (e Entry) usher() bool {
	program := strings.TrimSuffix(path.Base(strings.ReplaceAll(e.Command, `\`, "/")), ".exe")
	return program == "usher" && slices.Contains(e.Args, "stdio")
}

// refused says why usher would not take the entry under a name, or "".
func (e Entry) refused(name string) string {
	e.Disabled = true // variables needn't be set then
	server, err := json.Marshal(map[string]map[string]json.RawMessage{"mcpServers": {name: e.JSON()}})
	if err != nil {
		return err.Error()
	}
	c, err := config.ParseFrom("", server, config.From{Source: config.SourceImported})
	switch p, isProblem := errors.AsType[*config.Problem](err); {
	case isProblem:
		return p.Message
	case err != nil:
		return err.Error()
	case len(c.Servers) == 0 && len(c.Problems) > 0:
		return c.Problems[len(c.Problems)-1].Message
	case len(c.Servers) == 0:
		return "usher can't read such an entry"
	}
	return ""
}

// named returns the entry under another name, and its secrets with it.
func (e Entry) named(name string) Entry {
	before, after := ownSecret(e.Name), ownSecret(name)
	rename := func(s string) string { return s }
	secrets := slices.Clone(e.Secrets)
	if before != after {
		rename = func(s string) string { return strings.ReplaceAll(s, "${keyring:"+before, "${keyring:"+after) }
		for i := range secrets {
			if rest, ok := strings.CutPrefix(secrets[i].Name, before); ok {
				secrets[i].Name = after + rest
			}
		}
	}
	e.Name, e.Secrets, e.Command, e.URL, e.Cwd = name, secrets, rename(e.Command), rename(e.URL), rename(e.Cwd)
	e.Args = slices.Clone(e.Args)
	for i := range e.Args {
		e.Args[i] = rename(e.Args[i])
	}
	for _, list := range []*[]Pair{&e.Env, &e.Headers} {
		*list = slices.Clone(*list)
		for i := range *list {
			(*list)[i].Value = rename((*list)[i].Value)
		}
	}
	return e
}

// Endpoint is what the entry runs or where it is, in one line, without its values.
func (e Entry) Endpoint() string {
	if e.URL != "" {
		return e.URL
	}
	return strings.Join(append([]string{e.Command}, e.Args...), " ")
}

// ID names the entry on the command line.
func (e Entry) ID() string { return fmt.Sprintf("%s:%s", e.Product, e.Name) }
