package standard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// realIn is permission.Policy's Real for who works in dir. `~` is the home folder, as many servers have it.
func realIn(dir string) func(path string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return func(path string) string {
		switch rest, isHome := strings.CutPrefix(path, "~"); {
		case isHome && home != "" && (rest == "" || rest[0] == '/'):
			path = home + rest
		case strings.Contains(path, "://"):
			return ""
		case !filepath.IsAbs(path):
			path = dir + "/" + path
		}
		return follow(path)
	}
}

// follow follows the symbolic links of an absolute path as the kernel does, one element after the other. A link whose
// target isn't there is followed, too: who writes to it makes the target. What isn't there stays as it is written.
func follow(path string) string {
	const most = 40
	at, gone := "/", ""
	todo := strings.Split(path, "/")
	for links := 0; len(todo) > 0; {
		next := todo[0]
		todo = todo[1:]
		switch next {
		case "", ".":
			continue
		case "..":
			if at = filepath.Dir(at); len(at) < len(gone) {
				gone = ""
			}
			continue
		}
		next = filepath.Join(at, next)
		target, err := "", error(fs.ErrNotExist)
		if gone == "" {
			target, err = os.Readlink(next)
		}
		if err != nil {
			if at = next; gone == "" && errors.Is(err, fs.ErrNotExist) {
				gone = next
			}
			continue
		}
		if links++; links > most {
			return ""
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return at
}
