// Package mcpv1 is generated from proto/usher/mcp/v1/mcp.proto, whose comments specify MCP over gRPC. tools/generate.sh
// writes it anew.
//
// It moves frames of bytes and knows nothing of what is in them: that is the package above it.
package mcpv1
