// Package permission decides who may call what. Decide is pure: rules, the risk of a call and what was granted before
// go in, a decision and what decided come out.
//
// The lists are looked at in the order deny, ask, allow; the first list with a matching rule wins, and how specific a
// rule is breaks no tie. Where no rule matches, the risk decides: reads pass, everything else asks. A destructive call
// always asks: no allow rule and no remembered answer lets it through.
//
// The package asks nobody itself (an Asker does), writes no events and reads no files.
package permission
