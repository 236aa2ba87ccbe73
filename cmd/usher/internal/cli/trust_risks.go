package cli

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/usher-mcp/usher/config"
)

// risksOf names what of an entry deserves a second look: a text that is run as a program, what of the machine it is
// given, what it runs that its entry doesn't hold, and whom it tells your secrets. It knows the common shapes; that it
// says nothing doesn't make a program harmless.
func risksOf(s config.Server, folder string) []string {
	all := []string{}
	if s.Transport == config.TransportStdio {
		all = append(all, commandRisks(s)...)
		all = append(all, containerRisks(words(s))...)
		all = append(all, folderRisks(s, folder)...)
		all = append(all, variableRisks(s)...)
	} else {
		all = append(all, addressRisks(s)...)
	}
	for _, text := range []string{s.Command, s.URL} {
		if strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
			all = append(all, "letters that aren't plain ASCII: it may be another name than it looks like")
		}
	}
	return all
}

func words(s config.Server) []string { return append([]string{s.Command}, s.Args...) }

// program is a command without folder and Windows' endings.
func program(word string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/")))
	for _, ending := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// interpreters run text that follows a flag; of one letter it may stand in a cluster, such as -lc. The value says which,
// in words. Read only.
var interpreters = map[string][]string{
	"sh": {"c"}, "bash": {"c"}, "dash": {"c"}, "zsh": {"c"}, "ksh": {"c"}, "ash": {"c"}, "fish": {"c", "--command", "--init-command"}, "busybox": {"c"}, "su": {"c", "--command"},
	"csh": {"c"}, "tcsh": {"c"}, "nu": {"c", "--commands"}, "script": {"c", "--command"}, "watch": {}, "cmd": {"/c", "/k"},
	"powershell": {"-command", "-c", "-encodedcommand", "-enc", "-e", "-ec"}, "pwsh": {"-command", "-c", "-encodedcommand", "-enc", "-e", "-ec"},
	"node": {"e", "p", "--eval", "--print"}, "bun": {"e", "p", "--eval", "--print"}, "deno": {"eval"}, "tsx": {"e", "p", "--eval", "--print"},
	"perl": {"e", "E"}, "ruby": {"e"}, "php": {"r", "B", "R", "E"}, "lua": {"e"}, "osascript": {"e"}, "rscript": {"e"},
}

var pythons = regexp.MustCompile(`^(python|pypy)[0-9.]*w?$`)

func textFlags(name string) ([]string, bool) {
	if pythons.MatchString(name) {
		return []string{"c"}, true
	}
	flags, ok := interpreters[name]
	return flags, ok
}

// textRunner is the program of a command line that runs a text, and its flag; also behind others such as env or timeout.
func textRunner(all []string) (name, flag string) {
	for i, word := range all {
		name := program(word)
		if flags, ok := textFlags(name); ok {
			if f := textFlag(all[i+1:], flags); f != "" {
				return name, f
			}
		}
		if name == "npx" || name == "npm" || name == "pnpm" || name == "pnpx" {
			if f := runnerFlag(name, all[i+1:]); f != "" {
				return name, f
			}
		}
	}
	return "", ""
}

// textFlag looks for one of the flags before the first argument that is none.
func textFlag(args, flags []string) string {
	for i, a := range args {
		for _, f := range flags {
			long, _, _ := strings.Cut(a, "=")
			cluster := len(a) > 1 && a[0] == '-' && a[1] != '-' || len(a) > 1 && a[0] == '+'
			if len(f) == 1 && cluster && strings.Contains(a[1:], f) || len(f) > 1 && (strings.EqualFold(long, f)) {
				return a
			}
		}
		option := strings.HasPrefix(a, "-") || strings.HasPrefix(a, "+") || strings.HasPrefix(a, "/")
		value := i > 0 && strings.HasPrefix(args[i-1], "-") // maybe of the option before it
		if !option && !value && a != "sh" {
			return ""
		}
	}
	return ""
}

// runnerFlag looks for -c or --call, by which npx hands a text to a shell.
func runnerFlag(name string, args []string) string {
	if name != "npx" && name != "pnpx" {
		if len(args) == 0 || args[0] != "exec" && args[0] != "x" {
			return ""
		}
		args = args[1:]
	}
	for i, a := range args {
		flag, _, _ := strings.Cut(a, "=")
		switch {
		case flag == "-c", flag == "--call", flag == "--shell-mode", strings.HasPrefix(a, "-c"):
			return a
		case a == "--":
			return ""
		case !strings.HasPrefix(a, "-") && (i == 0 || !takesValue(args[i-1])):
			return ""
		}
	}
	return ""
}

func takesValue(flag string) bool {
	return slices.Contains([]string{"-p", "--package", "--registry", "--prefix", "--cache", "-w", "--workspace", "--userconfig"}, flag)
}

func runsText(s config.Server) bool {
	name, _ := textRunner(words(s))
	return name != ""
}

func commandRisks(s config.Server) (all []string) {
	if name, flag := textRunner(words(s)); name != "" {
		all = append(all, fmt.Sprintf("%s %s runs a text as a program: read all of its arguments", name, cut(flag, 20)))
	}
	for _, word := range words(s) {
		if name := program(word); name == "sudo" || name == "doas" || name == "pkexec" || name == "su" {
			all = append(all, name+" gives it another user's rights, such as root's")
		}
	}
	if strings.Contains(s.Command, "${") {
		all = append(all, "which program runs is up to a variable of yours")
	}
	if s.RunsPackage() && !slices.ContainsFunc(s.Args, pinned) {
		all = append(all, "it fetches what it runs, and no version is named: what it is then is not covered by your trust")
	}
	return all
}

// pinned reports whether an argument names a version or a digest, such as pkg@1.2.3 or image@sha256:….
func pinned(arg string) bool {
	_, v, ok := strings.Cut(strings.TrimPrefix(arg, "@"), "@")
	if !ok {
		_, v, ok = strings.Cut(arg, "==")
	}
	v = strings.TrimPrefix(v, "v")
	return ok && v != "" && (v[0] >= '0' && v[0] <= '9' && strings.Contains(v, ".") || strings.HasPrefix(v, "sha256:"))
}

// loaders are variables by which other programs load code, or fetch it from elsewhere. Read only.
var loaders = regexp.MustCompile(`(?i)^(PATH|LD_.*|DYLD_.*|NODE_OPTIONS|NODE_PATH|BASH_ENV|ENV|ZDOTDIR|PYTHON(PATH|STARTUP|HOME|WARNINGS)|PERL5(OPT|LIB)|RUBY(OPT|LIB)|` +
	`(JAVA_TOOL|_JAVA|JDK_JAVA)_OPTIONS|CLASSPATH|GIT_(SSH|SSH_COMMAND|EXTERNAL_DIFF|CONFIG.*)|PHPRC|PHP_INI_SCAN_DIR|LUA_INIT|DOTNET_STARTUP_HOOKS|` +
	`npm_config_.*|NPM_CONFIG_.*|UV_.*|PIP_.*|BUN_.*|CARGO_.*|RUSTC.*|GO(PROXY|FLAGS|NOSUMDB|NOSUMCHECK|ROOT)|DOCKER_HOST|` +
	`SSL_CERT_.*|NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|https?_proxy|all_proxy|HOME|XDG_.*)$`)

func variableRisks(s config.Server) (all []string) {
	var names []string
	for name := range s.Env {
		if loaders.MatchString(name) {
			names = append(names, name)
		}
	}
	if slices.Sort(names); len(names) > 0 {
		all = append(all, strings.Join(names, ", ")+": by this, programs load or fetch other code than they would")
	}
	texts := words(s)
	for _, v := range s.Env {
		texts = append(texts, v.Reveal())
	}
	if refs := references(texts); len(refs) > 0 {
		all = append(all, "it is given the value of "+strings.Join(refs, ", "))
	}
	return all
}

var reference = regexp.MustCompile(`(\$?)\$\{(keyring:[^}]*|[A-Za-z_][A-Za-z0-9_]*)`)

// references are the variables and secrets of the user that texts name.
func references(texts []string) (names []string) {
	for _, text := range texts {
		for _, m := range reference.FindAllStringSubmatch(text, -1) {
			if m[1] == "" && !slices.Contains([]string{"HOME", "PWD", "USER"}, m[2]) {
				names = append(names, strings.Replace(m[2], "keyring:", "the secret ", 1))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func addressRisks(s config.Server) (all []string) {
	texts := []string{s.URL}
	for _, v := range s.Headers {
		texts = append(texts, v.Reveal())
	}
	u, err := url.Parse(s.URL)
	to := "the server"
	if err == nil && u.Host != "" {
		to = u.Host
	}
	if refs := references(texts); len(refs) > 0 {
		all = append(all, "the value of "+strings.Join(refs, ", ")+" goes to "+to)
	}
	if err != nil || strings.Contains(strings.SplitAfterN(s.URL+"///", "/", 4)[2], "${") || strings.HasPrefix(s.URL, "${") {
		all = append(all, "where it leads is up to a variable of yours")
	} else if (u.Scheme == "http" || u.Scheme == "ws" || u.Scheme == "grpc") && !isHere(s) {
		all = append(all, "what goes to "+to+" and comes from there isn't encrypted")
	}
	if s.TLS.Key != "" {
		all = append(all, "it is shown the certificate whose key is "+s.TLS.Key)
	}
	return all
}
