package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/usher-mcp/usher/config"
)

const indent = "  "

// compose adds what a plan adds, behind what imported.json has. All that is there stays, with its comments.
func compose(old []byte, p *Plan) ([]byte, error) {
	if servers, rules := p.Count(); servers+rules == 0 {
		return old, nil
	}
	text, bom := bytes.CutPrefix(old, []byte("\xef\xbb\xbf"))
	text = append(bytes.TrimRight(text, " \t\r\n"), '\n')
	fresh := hujson.Extra(text).IsValid()
	if fresh {
		text = append(bytes.TrimLeft(text, "\n"), "{}\n"...)
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, errors.New("imported.json can't be read; correct it, or move it away")
	}
	all, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New("imported.json must be an object; correct it, or move it away")
	}
	if err := errors.Join(addServers(all, p), addRules(all, p)); err != nil {
		return nil, err
	}
	out := root.Pack()
	if bom {
		out = append([]byte("\xef\xbb\xbf"), out...)
	}
	if _, err := config.ParseFrom("imported.json", out, config.From{Source: config.SourceImported}); err != nil {
		return nil, fmt.Errorf("the result would not be readable: %w", err)
	}
	return out, nil
}

func addServers(root *hujson.Object, p *Plan) error {
	var servers *hujson.Object
	for _, s := range p.Servers {
		if s.State != Added {
			continue
		}
		if servers == nil {
			var err error
			if servers, err = object(root, "mcpServers", indent, "servers"); err != nil {
				return err
			}
		}
		v, err := pretty(s.JSON(), indent+indent)
		if err != nil {
			return err
		}
		comment := strings.Map(printable, "// "+titleOf(s.Product)+", "+s.Where.String())
		put(servers, s.Name, comment, v, indent+indent)
	}
	return nil
}

func titleOf(product string) string {
	p, _ := ProductNamed(product)
	return p.Title
}

// printable keeps a path in its comment.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
		return '?'
	}
	return r
}

func addRules(root *hujson.Object, p *Plan) error {
	for _, list := range []string{"deny", "ask", "allow"} {
		var array *hujson.Array
		for _, r := range p.Rules {
			if r.State != Added || r.List != list {
				continue
			}
			if array == nil {
				permissions, err := object(root, "permissions", indent)
				if err != nil {
					return err
				}
				if array, err = arrayIn(permissions, list); err != nil {
					return err
				}
			}
			v, err := pretty(r.element(), indent+indent+indent)
			if err != nil {
				return err
			}
			push(array, v, indent+indent+indent)
		}
	}
	return nil
}

// element is the rule as it stands in its list.
func (r PlannedRule) element() json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	var v any = r.Text
	if r.When != "" {
		v = struct {
			Rule string `json:"rule"`
			When string `json:"when"`
		}{r.Text, r.When}
	}
	_ = enc.Encode(v) // texts can always be written
	return b.Bytes()
}

// refusedRule says why usher would not take a rule, or "".
func refusedRule(r PlannedRule) string {
	text := fmt.Appendf(nil, `{"permissions": {%q: [%s]}}`, r.List, r.element())
	c, err := config.ParseFrom("", text, config.From{Source: config.SourceImported})
	switch {
	case err != nil || len(c.Problems) > 0 && r.When != "":
		return "usher has no such rule; all tools of this server are offered"
	case len(c.Problems) > 0:
		return c.Problems[0].Message
	}
	return ""
}

// pretty lays JSON out behind a prefix: objects on lines of their own, lists on one.
func pretty(raw json.RawMessage, prefix string) (hujson.Value, error) {
	v, err := hujson.Parse(raw)
	if err != nil {
		return v, err
	}
	v.Minimize()
	lay(&v, prefix)
	return v, nil
}

func lay(v *hujson.Value, prefix string) {
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			m := &c.Members[i]
			m.Name.BeforeExtra, m.Value.BeforeExtra = hujson.Extra("\n"+prefix+indent), hujson.Extra(" ")
			lay(&m.Value, prefix+indent)
		}
		c.AfterExtra = hujson.Extra("\n" + prefix)
	case *hujson.Array:
		for i := range c.Elements {
			if lay(&c.Elements[i], prefix); i > 0 {
				c.Elements[i].BeforeExtra = hujson.Extra(" ")
			}
		}
	}
}

// object finds a member that is an object, or makes it.
func object(in *hujson.Object, name, prefix string, also ...string) (*hujson.Object, error) {
	for _, m := range in.Members {
		s := m.Name.Value.(hujson.Literal).String()
		if s != name && (len(also) == 0 || s != also[0]) {
			continue
		}
		if o, ok := m.Value.Value.(*hujson.Object); ok {
			return o, nil
		}
		return nil, fmt.Errorf("%s in imported.json is no object; correct it", s)
	}
	o := &hujson.Object{}
	put(in, name, "", hujson.Value{Value: o}, prefix)
	return o, nil
}

func arrayIn(in *hujson.Object, name string) (*hujson.Array, error) {
	for _, m := range in.Members {
		if m.Name.Value.(hujson.Literal).String() == name {
			a, ok := m.Value.Value.(*hujson.Array)
			if !ok {
				return nil, fmt.Errorf("permissions.%s in imported.json is no list; correct it", name)
			}
			return a, nil
		}
	}
	a := &hujson.Array{}
	put(in, name, "", hujson.Value{Value: a}, indent+indent)
	return a, nil
}

// put adds a member on lines of its own, behind the comments that are there.
func put(in *hujson.Object, name, comment string, v hujson.Value, prefix string) {
	before := behind(&in.AfterExtra, prefix)
	if comment != "" {
		before += comment + "\n" + prefix
	}
	v.BeforeExtra = hujson.Extra(" ")
	in.Members = append(in.Members, hujson.ObjectMember{Name: hujson.Value{BeforeExtra: hujson.Extra(before), Value: hujson.String(name)}, Value: v})
}

func push(in *hujson.Array, v hujson.Value, prefix string) {
	if n := len(in.Elements); n > 0 && !bytes.ContainsRune(in.Elements[n-1].BeforeExtra, '\n') && len(in.AfterExtra) == 0 {
		v.BeforeExtra = hujson.Extra(" ") // where the others are on one line
		in.Elements = append(in.Elements, v)
		return
	}
	v.BeforeExtra = hujson.Extra(behind(&in.AfterExtra, prefix))
	in.Elements = append(in.Elements, v)
}

// behind takes the comments before a closing bracket for a new item, and leaves the bracket a line of its own.
func behind(extra *hujson.Extra, prefix string) string {
	before := strings.TrimRight(string(*extra), " \t\r\n")
	*extra = hujson.Extra("\n" + strings.TrimSuffix(prefix, indent))
	return before + "\n" + prefix
}
