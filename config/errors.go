package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/usher-mcp/usher/fault"
)

// readLocale takes zh-CN for zh, as an environment would say it.
func (r *reader) readLocale(f field) {
	l := fault.Language("")
	if f.value.Value.Kind() == '"' {
		tag, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(textOf(f.value)), "_", "-"), "-")
		l = fault.Language(tag)
	}
	if l != fault.English && l != fault.Chinese {
		r.bad(f, `expected "en" or "zh"; English is in force`)
		return
	}
	r.cfg.Locale = l
	r.cfg.file.said["locale"] = true
}

var errorFields = []string{"codes", "statuses", "texts"}

// readErrors extends the table of errors. D5, D6
func (r *reader) readErrors(f field) {
	members, _ := r.members(f, `{"codes": {"-32050": "auth"}}`)
	t := &r.cfg.Errors
	r.cfg.file.said["errors"] = true
	for _, m := range members {
		switch m.name {
		case "codes":
			t.Codes = r.kinds(m, `{"-32050": "auth"}`, jsonRPCCode, `not a code of JSON-RPC; write a whole number, such as "-32050"`)
		case "statuses":
			t.Statuses = r.kinds(m, `{"423": "timeout"}`, errorStatus, `not an HTTP status of an error; write a number from 400 to 599`)
		case "texts":
			t.Texts = r.texts(m)
		default:
			r.report(m.key, m.path, unknown(m.name, errorFields))
		}
	}
}

func jsonRPCCode(s string) (int, bool) {
	n, err := strconv.ParseInt(s, 10, 32)
	return int(n), err == nil && n != 0 && strconv.FormatInt(n, 10) == s
}

func errorStatus(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 400 && n <= 599 && strconv.Itoa(n) == s
}

func (r *reader) kinds(f field, example string, number func(string) (int, bool), badNumber string) map[int]fault.Kind {
	members, _ := r.members(f, example)
	out := make(map[int]fault.Kind)
	for _, m := range members {
		n, ok := number(m.name)
		if !ok {
			r.report(m.key, m.path, badNumber)
			continue
		}
		k, known := fault.ParseKind(textOf(m.value))
		if m.value.Value.Kind() != '"' || !known || !k.Assignable() {
			r.bad(m, "expected one of "+strings.Join(fault.AssignableNames(), ", "))
			continue
		}
		out[n] = k
	}
	return out
}

func (r *reader) texts(f field) map[fault.Kind]map[fault.Language]string {
	const example = `{"en": "{tool} …", "zh": "…"}`
	members, _ := r.members(f, `{"timeout": `+example+`}`)
	out := make(map[fault.Kind]map[fault.Language]string)
	for _, m := range members {
		k := fault.Kind(m.name)
		if !slices.Contains(fault.Kinds(), k) {
			r.report(m.key, m.path, unknownKind(m.name))
			continue
		}
		languages, _ := r.members(m, example)
		out[k] = make(map[fault.Language]string)
		for _, l := range languages {
			if l.name != string(fault.English) && l.name != string(fault.Chinese) {
				r.report(l.key, l.path, unknown(l.name, []string{"en", "zh"}))
				continue
			}
			s, ok := r.text(l)
			if !ok {
				continue
			}
			if why := fault.CheckText(s); why != "" {
				r.bad(l, why)
				continue
			}
			out[k][fault.Language(l.name)] = s
		}
	}
	return out
}

func unknownKind(name string) string {
	var all []string
	for _, k := range fault.Kinds() {
		all = append(all, string(k))
	}
	slices.Sort(all)
	return strings.Replace(unknown(name, all), "field", "kind of failure", 1)
}
