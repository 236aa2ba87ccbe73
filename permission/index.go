package permission

// lists are the rules as they were read, once for each Policy.
type lists struct {
	deny, ask, allow []entry
	grants           map[string][]*Grant // by canonical name
	odd              []oddLabel
}

// entry is a rule with its pattern taken apart.
type entry struct {
	rule *Rule
	pattern
	always bool // it has neither arguments nor a condition
	broken error
}

func (p *Policy) lists() *lists {
	p.once.Do(func() {
		p.read = lists{deny: readAll(p.Deny, wide), ask: readAll(p.Ask, wide), allow: readAll(p.Allow, narrow), grants: map[string][]*Grant{}, odd: oddLabels(p.Labels)}
		for i := range p.Grants {
			name := p.Grants[i].Canonical()
			p.read.grants[name] = append(p.read.grants[name], &p.Grants[i])
		}
	})
	return &p.read
}

// readAll makes two entries of a rule with arguments that forbids, since a tool's name may be such that the whole pattern
// is its name.
func readAll(rules []Rule, how reading) []entry {
	all := make([]entry, 0, len(rules))
	for i := range rules {
		e := entry{rule: &rules[i]}
		e.pattern, e.broken = readPattern(rules[i].Pattern)
		if b, ok := rules[i].When.(broken); ok && e.broken == nil {
			e.broken = b.err
		}
		e.always = e.broken != nil || len(e.args) == 0 && rules[i].When == nil
		all = append(all, e)
		if whole := rules[i].Pattern; how == wide && e.name != whole {
			all = append(all, entry{rule: &rules[i], pattern: pattern{name: whole, folded: fold(whole)}, always: rules[i].When == nil})
		}
	}
	return all
}

// bearer is all of a call that decides which rules are about it, their arguments and conditions aside.
type bearer struct {
	Target
	model, source, entry string
}

// candidates are the rules of each list that are about a tool, up to the first that matches whatever the arguments.
type candidates struct {
	deny, ask, allow []*entry
	simple           bool // each list has one at most, and that matches whatever the arguments
}

// maxMemo bounds the memo, since tool names come from servers that may make up new ones for ever.
const maxMemo = 100_000

// candidates remembers what it finds: which rules are about a tool never changes for a Policy, and looking through
// hundreds costs more than a call.
func (p *Policy) candidates(c *Call) *candidates {
	key := bearer{c.Target, c.Model, c.Source, c.Entry}
	if m, ok := p.memo.Load(key); ok {
		return m.(*candidates)
	}
	l := p.lists()
	n := asked(c.Target, c.Model)
	forbids := func(e *entry) bool { return e.forbids(n) }
	m := &candidates{deny: about(l.deny, forbids), ask: about(l.ask, forbids), allow: about(l.allow, func(e *entry) bool {
		return e.broken == nil && e.rule.permits(c) && e.names(c.Target)
	})}
	m.simple = simple(m.deny) && simple(m.ask) && simple(m.allow)
	if p.memoSize.Load() < maxMemo && p.memoSize.Add(1) <= maxMemo {
		p.memo.Store(key, m)
	}
	return m
}

func about(list []entry, is func(*entry) bool) []*entry {
	var all []*entry
	for i := range list {
		e := &list[i]
		if !is(e) {
			continue
		}
		all = append(all, e)
		if e.always {
			break
		}
	}
	return all
}

func simple(list []*entry) bool { return len(list) == 0 || len(list) == 1 && list[0].always }

// found is what matches whatever the arguments are.
func (m *candidates) found() found {
	return found{deny: sure(m.deny), ask: sure(m.ask), allow: sure(m.allow)}
}

func sure(list []*entry) hit {
	if n := len(list); n > 0 && list[n-1].always {
		return hit{rule: list[n-1].rule, why: list[n-1].whyBroken()}
	}
	return hit{}
}

func (e *entry) whyBroken() string {
	if e.broken == nil {
		return ""
	}
	return "the rule can't be read (" + e.broken.Error() + "), and so it counts for every call"
}
