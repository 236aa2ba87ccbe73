package cli

import (
	"path"
	"slices"
	"strings"
)

// containerRisks says what a container gets of the machine.
func containerRisks(all []string) (risks []string) {
	at := slices.IndexFunc(all, func(w string) bool {
		return slices.Contains([]string{"docker", "podman", "nerdctl", "finch"}, program(w))
	})
	if at < 0 {
		return nil
	}
	name, args := program(all[at]), all[at+1:]
	add := func(text string) {
		if !slices.Contains(risks, text) {
			risks = append(risks, text)
		}
	}
	for i, a := range args {
		flag, value, joined := strings.Cut(a, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		switch {
		case flag == "-v", flag == "--volume":
			add(volumeRisk(name, firstPart(value)))
		case strings.HasPrefix(a, "-v") && !strings.HasPrefix(a, "--"):
			add(volumeRisk(name, firstPart(a[2:])))
		case flag == "--mount":
			add(volumeRisk(name, mountSource(value)))
		case flag == "--privileged" && value != "false", flag == "--device", flag == "--cap-add", flag == "--security-opt":
			add(name + " " + flag + " takes walls of the container down")
		case slices.Contains([]string{"--pid", "--ipc", "--network", "--net", "--userns", "--uts", "--cgroupns"}, flag) && value == "host":
			add(name + " " + flag + " host puts it beside the processes or the network of this machine")
		case flag == "-H", flag == "--host", flag == "-c" && i == 0, flag == "--context":
			add(name + " " + flag + " runs it at another daemon")
		}
	}
	return slices.DeleteFunc(risks, func(s string) bool { return s == "" })
}

func firstPart(volume string) string {
	source, _, _ := strings.Cut(volume, ":")
	if strings.HasPrefix(volume, "${") { // a default has a colon, too
		if end := strings.Index(volume, "}"); end > 0 {
			rest, _, _ := strings.Cut(volume[end:], ":")
			source = volume[:end] + rest
		}
	}
	return source
}

func mountSource(mount string) string {
	for part := range strings.SplitSeq(mount, ",") {
		if key, value, _ := strings.Cut(part, "="); key == "source" || key == "src" {
			return value
		}
	}
	return ""
}

// volumeRisk is about a folder of the machine; one that only has a name is the container's own.
func volumeRisk(name, source string) string {
	if !strings.HasPrefix(source, "/") && !strings.HasPrefix(source, "~") && !strings.HasPrefix(source, ".") && !strings.HasPrefix(source, "$") {
		return ""
	}
	switch {
	case strings.HasPrefix(source, "/") && path.Clean(source) == "/":
		return name + " gives it your whole disk (/)"
	case strings.HasSuffix(source, "docker.sock"), strings.HasSuffix(source, "podman.sock"), strings.HasSuffix(source, "containerd.sock"):
		return name + " gives it " + source + ", by which it can do anything as root"
	}
	return name + " gives it " + source + " of this machine"
}
