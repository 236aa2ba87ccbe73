package config

import "time"

const longestWait = time.Hour

// readApprovals reads how long somebody waits. F5
func (r *reader) readApprovals(f field) {
	members, _ := r.members(f, `{"wait": "25s", "keep": "15m"}`)
	a, said := &r.cfg.Approvals, r.cfg.file.said
	keep := field{}
	for _, m := range members {
		switch m.name {
		case "wait":
			if d, ok := r.span(m, 0, longestWait); ok {
				a.Wait, said[m.path] = d, true
			}
		case "keep":
			if d, ok := r.span(m, time.Second, maxTimeout); ok {
				a.Keep, said[m.path], keep = d, true, m
			}
		default:
			r.report(m.key, m.path, unknown(m.name, []string{"wait", "keep"}))
		}
	}
	switch {
	case a.Wait <= a.Keep:
	case keep.path != "" && said[member(f.path, "wait")]:
		r.bad(keep, "is shorter than wait; write a longer time")
		a.Keep = max(DefaultKeep, a.Wait)
	case keep.path != "":
		a.Wait = a.Keep
	default:
		a.Keep = a.Wait
	}
}

// span is a time within bounds, of which 0 may be one.
func (r *reader) span(f field, least, most time.Duration) (time.Duration, bool) {
	d, ok := parseDuration(f.value)
	switch {
	case !ok:
		r.bad(f, badTime)
	case d < least || d > most:
		r.bad(f, "a time is from "+shownTime(least)+" to "+shownTime(most)+" here; a number is milliseconds")
		ok = false
	}
	return d, ok
}
