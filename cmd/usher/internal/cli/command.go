package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
)

// self stands in hints for how this run of usher is called; hint puts it in.
const self = "{usher}"

// hint makes the commands of a text ones that look at the same files as this run.
func (a *app) hint(text string) string { return strings.ReplaceAll(text, self, a.command()) }

// command is how usher is called again for the same files, as a shell takes it.
func (a *app) command() string {
	words := []string{"usher"}
	for _, w := range a.chosen() {
		words = append(words, shellWord(w))
	}
	return strings.Join(words, " ")
}

// chosen are the flags that name files and folders other than the default ones. The paths are absolute, since the
// command may be copied elsewhere; a variable of this shell may not be there either.
func (a *app) chosen() []string {
	var flags []string
	if a.namesConfig() && absolute(a.path()) != absolute(defaultPath()) {
		flags = append(flags, "--config", absolute(a.path()))
	}
	if a.dataDir != "" {
		flags = append(flags, "--data", absolute(a.dataDir))
	}
	if a.dir != "" {
		flags = append(flags, "--dir", absolute(a.dir))
	}
	return flags
}

// stdioEntry is what an agent that starts usher itself has in its configuration.
func (a *app) stdioEntry() string {
	args, _ := json.Marshal(append([]string{"stdio"}, a.chosen()...))
	return `{"mcpServers": {"usher": {"command": "usher", "args": ` + strings.ReplaceAll(string(args), `","`, `", "`) + `}}}`
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// defaultPath is where the configuration is where nobody names another.
func defaultPath() string {
	return config.DefaultPath(func(name string) (string, bool) {
		if name == "USHER_CONFIG" {
			return "", false
		}
		return os.LookupEnv(name)
	})
}

// namesConfig reports whether a person named the file: such a file must be there.
func (a *app) namesConfig() bool { return a.configPath != "" || os.Getenv("USHER_CONFIG") != "" }

// there fails where the file that a person named doesn't exist.
func (a *app) there() error {
	if !a.namesConfig() || exists(a.path()) {
		return nil
	}
	by := "--config"
	if a.configPath == "" {
		by = "USHER_CONFIG"
	}
	return &failure{
		fault.ExitConfig, fmt.Sprintf("there is no configuration %s, which %s names", a.path(), by),
		"Correct the path, or begin that file with a first rule: " + self + " allow read_file",
	}
}
