package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.uber.org/goleak"
)

// before is what this process had when a run began.
type before struct {
	goroutines goleak.Option
	files      int
}

func takeStock() before { return before{goleak.IgnoreCurrent(), len(openFiles())} }

// left returns what a run in dir left behind. What is on its way out gets a moment.
func (b before) left(dir string) (problems []string) {
	if all := settled(func() []string { return processes(dir) }, func(all []string) bool { return len(all) == 0 }); len(all) > 0 {
		problems = append(problems, fmt.Sprintf("processes are left: %s", strings.Join(all, "; ")))
	}
	if files := settled(openFiles, func(all []string) bool { return len(all) <= b.files }); len(files) > b.files {
		problems = append(problems, fmt.Sprintf("%d files are open, before there were %d: %s", len(files), b.files, strings.Join(files, ", ")))
	}
	if err := goleak.Find(b.goroutines); err != nil {
		problems = append(problems, "goroutines are left: "+err.Error())
	}
	return problems
}

func openFiles() (all []string) {
	const dir = "/proc/self/fd"
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && !strings.HasSuffix(to, "/fd") {
			all = append(all, to)
		}
	}
	return all
}

// processes are our children, also dead ones that nobody waited for, and all that bear the folder in their command line.
func processes(dir string) (all []string) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		stat, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) > 1 && (f[1] == strconv.Itoa(os.Getpid()) || strings.Contains(string(line), dir+"/")) {
			all = append(all, fmt.Sprintf("%d (%s) %.100q", pid, f[0], line))
		}
	}
	return all
}
