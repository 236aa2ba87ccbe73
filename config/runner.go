package config

import (
	"path"
	"slices"
	"strings"
	"time"
)

// runnerStart is how long a package runner may take before its first handshake: it may have to fetch and build what it
// runs. C8
const runnerStart = 2 * time.Minute

// runsPackage reports whether a command fetches what it runs. It may be wrong for odd command lines; the price is only
// that somebody waits longer for a server that doesn't come.
func runsPackage(command string, args []string) bool {
	for range 4 { // wrappers in wrappers
		name := programName(command)
		if slices.Contains(runners, name) {
			return true
		}
		for _, words := range runnerWords(name) {
			if begins(args, words) {
				return true
			}
		}
		inner := unwrapped(name, args)
		if len(inner) == 0 {
			return false
		}
		command, args = inner[0], inner[1:]
	}
	return false
}

// runners do nothing else. Read only.
var runners = []string{"npx", "pnpx", "bunx", "uvx", "dnx", "dx"}

// runnerWords are the arguments by which a program becomes a package runner.
func runnerWords(program string) [][]string {
	switch program {
	case "npm":
		return [][]string{{"exec"}, {"x"}}
	case "pnpm", "yarn":
		return [][]string{{"dlx"}}
	case "bun", "pixi":
		return [][]string{{"x"}, {"exec"}}
	case "uv":
		return [][]string{{"run"}, {"tool", "run"}}
	case "pipx", "hatch", "go", "cargo", "nix":
		return [][]string{{"run"}}
	case "deno":
		return [][]string{{"run"}, {"x"}}
	case "dotnet":
		return [][]string{{"run"}, {"tool", "run"}, {"tool", "exec"}}
	case "docker", "podman", "nerdctl", "finch":
		return [][]string{{"run"}, {"container", "run"}, {"compose", "run"}, {"mcp", "gateway", "run"}}
	}
	return nil
}

// programName is a command without folder and Windows' endings.
func programName(command string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(command, `\`, "/")))
	for _, ending := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// begins reports whether the arguments that are no flags begin with words. An argument behind a flag may be its value.
func begins(args, words []string) bool {
	flag := false
	for _, a := range args {
		switch {
		case strings.HasPrefix(a, "-"), strings.HasPrefix(a, "+"): // cargo +nightly run
			flag = !strings.Contains(a, "=")
			continue
		case a == words[0]:
			if words = words[1:]; len(words) == 0 {
				return true
			}
		case !flag:
			return false
		}
		flag = false
	}
	return false
}

// unwrapped is the command line that a shell or env is given, or nothing.
func unwrapped(program string, args []string) []string {
	switch program {
	case "sh", "bash", "zsh", "dash", "cmd", "powershell", "pwsh":
		for i, a := range args {
			if l := strings.ToLower(a); l == "/c" || strings.HasPrefix(l, "-") && strings.HasSuffix(l, "c") || l == "-command" {
				line := strings.TrimPrefix(strings.TrimSpace(strings.Join(args[i+1:], " ")), "exec ")
				return strings.Fields(line)
			}
		}
	case "env":
		for i, a := range args {
			if !strings.Contains(a, "=") && !strings.HasPrefix(a, "-") {
				return args[i:]
			}
		}
	}
	return nil
}

// RunsPackage reports whether the entry's command is a package runner, such as npx or uvx, as far as its words tell.
func (s *Server) RunsPackage() bool { return runsPackage(s.Command, s.Args) }
