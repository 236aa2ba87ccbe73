package sandbox

import (
	"maps"
	"slices"
	"strings"
)

// Environ returns the environment of a child as sorted NAME=value strings: the
// variables of host that are on a small allow-list (home, user, shell, PATH,
// locale, terminal, temporary directory, time zone, proxies, certificate
// authorities), and all of entry, which wins over host. Where host names a
// variable twice, the last one counts. Exported shell functions are left out.
//
// Nothing else of host gets through, but a proxy variable may itself hold a
// password.
func Environ(host []string, entry map[string]string) []string {
	vars := make(map[string]string, len(entry)+16)
	for _, kv := range host {
		name, value, ok := strings.Cut(kv, "=")
		if ok && inherited(name) && !strings.HasPrefix(value, "()") {
			vars[name] = value
		}
	}
	maps.Copy(vars, entry)
	env := make([]string, 0, len(vars))
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

func inherited(name string) bool {
	switch name {
	case "HOME", "LOGNAME", "PATH", "SHELL", "USER", "LANG", "TERM", "TMPDIR", "TZ",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
		"http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
		"CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "AWS_CA_BUNDLE":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

// lookupEnv finds the value that a process started with env sees for name.
func lookupEnv(env []string, name string) (value string, ok bool) {
	for _, kv := range env {
		if n, v, found := strings.Cut(kv, "="); found && n == name {
			return v, true
		}
	}
	return "", false
}
