package config

import (
	"slices"
	"strings"
)

func serverFields() []string {
	own := []string{"type", "command", "args", "env", "cwd", "url", "headers", "bearerToken", "tls", "disabled", "trustHints"}
	return append(own, tuneFields...)
}

// foreignField says what to do about a field of a server that usher does not
// have: "" for what other products keep there and usher can do without.
func foreignField(name string) string {
	if slices.Contains(silentFields, name) {
		return ""
	}
	switch name {
	case "serverUrl", "httpUrl", "uri":
		return instead("url")
	case "cmd":
		return instead("command")
	case "environment", "envs":
		return instead("env")
	case "http_headers", "requestOptions":
		return instead("headers")
	case "transport", "transportType":
		return instead("type")
	case "startup_timeout_sec", "startup_timeout_ms", "connectionTimeout":
		return instead("startTimeout")
	case "tool_timeout_sec", "request_timeout_ms":
		return instead("callTimeout")
	case "autoRestart", "restartPolicy", "maxRestarts":
		return instead("restart")
	case "retries", "maxRetries", "retryPolicy":
		return instead("retry")
	case "circuitBreaker", "circuit_breaker":
		return instead("breaker")
	case "concurrency", "maxParallel", "maxConcurrency":
		return instead("maxConcurrent")
	case "idempotentTools":
		return instead("idempotent")
	case "autoApprove", "alwaysAllow", "trust":
		return "ignored; what may run without asking is set in permissions.allow"
	case "oauth", "auth", "headersHelper", "env_http_headers", "scopes":
		return `ignored: not supported by this version; write "headers": {"NAME": "${VARIABLE}"} or "bearerToken": "${VARIABLE}"`
	case "apiKey":
		return `ignored: write "bearerToken": "${VARIABLE}", or the header that the server wants in "headers"`
	case "envFile", "env_vars", "env_keys":
		return `ignored: not supported by this version; write "env": {"NAME": "${NAME}"}`
	case "sandbox", "sandboxEnabled":
		return "ignored: not supported by this version; the server is not confined"
	}
	if strings.HasSuffix(strings.ToLower(name), "tools") {
		return "ignored: all tools are offered; hide some with permissions.deny"
	}
	return unknown(name, serverFields())
}

func instead(ours string) string { return `not read here; write "` + ours + `"` }
