package config

import (
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

var (
	flowModes  = []string{FlowsOff, FlowsAsk, FlowsDeny}
	flowLabels = []string{LabelPrivate, LabelUntrusted, LabelEgress}
	flowFields = []string{"mode", "labels", "inherit"}
)

// readFlows reads what is to be done about data that could be carried out, and the labels that say where it could.
func (r *reader) readFlows(f field) {
	if f.value.Value.Kind() == '"' {
		r.flowMode(f)
		return
	}
	if _, ok := f.value.Value.(*hujson.Object); !ok {
		r.bad(f, `expected "off", "ask" or "deny", or an object; write {"mode": "ask", "labels": {"mcp.mail.*": ["private"]}}`)
		return
	}
	members, _ := r.members(f, "")
	for _, m := range members {
		switch m.name {
		case "mode":
			r.flowMode(m)
		case "labels":
			r.readFlowLabels(m)
		case "inherit":
			if r.mayTune(m) {
				if d, ok := r.span(m, 0, maxTimeout); ok {
					r.cfg.Flows.Inherit, r.cfg.file.said["flows.inherit"] = d, true
				}
			}
		default:
			r.report(m.key, m.path, unknown(m.name, flowFields))
		}
	}
}

func (r *reader) flowMode(f field) {
	if !r.mayTune(f) {
		return
	}
	if f.value.Value.Kind() != '"' || !slices.Contains(flowModes, textOf(f.value)) {
		r.bad(f, `expected "off", "ask" or "deny"; ask is in force`)
		return
	}
	r.cfg.Flows.Mode, r.cfg.file.said["flows.mode"] = textOf(f.value), true
}

// mayTune is false for a project, which may only add labels.
func (r *reader) mayTune(f field) bool {
	if r.from.Source == SourceProject {
		r.refuse(f, `a project's file can only add labels; put this into your own configuration`)
		return false
	}
	return true
}

func (r *reader) readFlowLabels(f field) {
	members, _ := r.members(f, `{"mcp.mail.*": ["private", "untrusted", "egress"]}`)
	for _, m := range members {
		if why := badPattern(m.name); why != "" {
			r.report(m.key, m.path, why)
			continue
		}
		array, ok := m.value.Value.(*hujson.Array)
		if !ok {
			r.bad(m, `expected a list of labels; write ["private"]`)
			continue
		}
		if len(array.Elements) == 0 && r.from.Source == SourceProject {
			r.refuse(m, `a project's file can only add labels; write ["untrusted"], or remove it`)
			continue
		}
		labels, ok := r.labels(m)
		if !ok && len(labels) == 0 {
			continue // none of them could be read: an empty list would say the opposite
		}
		line, _ := r.doc.place(m.key)
		r.cfg.Flows.Labels = append(r.cfg.Flows.Labels, FlowLabels{m.name, labels, r.from.Source, r.doc.name, line})
	}
}

// labels reads a list, without what is wrong in it.
func (r *reader) labels(f field) (all []string, ok bool) {
	elements, ok := r.elements(f)
	for _, e := range elements {
		if e.value.Value.Kind() != '"' || !slices.Contains(flowLabels, textOf(e.value)) {
			r.bad(e, "expected one of "+strings.Join(flowLabels, ", "))
			ok = false
			continue
		}
		all = append(all, textOf(e.value))
	}
	slices.Sort(all)
	return slices.Compact(all), ok
}
