// Package upstream keeps one configured server reachable: it dials it, lists its tools, notices when it ends and dials
// it again for the next call.
//
// Only it dials. A call that may have run is never sent again. It decides no permission and names no tool.
package upstream
