// Package flows shows that private data doesn't leave unasked, and what that costs: a scripted agent that does whatever it
// reads, on a real host with real servers, under texts that tell it to send away what is private; and tasks of the honest
// kind, for which people are asked little. It looks at what reached the servers, not at what was decided.
package flows
