package resolved

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Bounds of what is looked at.
const (
	maxProcesses = 64
	maxWords     = 16       // of one command line
	maxLine      = 64 << 10 // bytes
)

// Of returns the package that the process runs, or else the nearest of those that it started; empty where none of them
// runs a package. Ask once the server has answered: before, the runner may still be fetching it. It takes a millisecond
// or so, and reads only files.
func Of(pid int) string {
	for next, seen := []int{pid}, 0; len(next) > 0 && seen < maxProcesses; seen++ {
		if found := runs(next[0]); found != "" {
			return found
		}
		next = append(next[1:], children(next[0])...)
	}
	return ""
}

// runs looks at the script that an interpreter was given; without one, at the program itself.
func runs(pid int) string {
	dir := "/proc/" + strconv.Itoa(pid)
	f, err := os.Open(dir + "/cmdline")
	if err != nil {
		return ""
	}
	defer f.Close()
	line, err := io.ReadAll(io.LimitReader(f, maxLine))
	if err != nil {
		return ""
	}
	words := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
	for _, word := range words[min(1, len(words)):min(maxWords, len(words))] {
		if word == "" || word[0] == '-' {
			continue
		}
		if !filepath.IsAbs(word) {
			cwd, err := os.Readlink(dir + "/cwd")
			if err != nil {
				continue
			}
			word = filepath.Join(cwd, word)
		}
		if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
			return OfFile(word)
		}
	}
	exe, err := os.Readlink(dir + "/exe")
	if err != nil {
		return ""
	}
	return OfFile(exe)
}

// children are those of all threads.
func children(pid int) (all []int) {
	files, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	if err != nil {
		return nil
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for word := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(word); err == nil && len(all) < maxProcesses {
				all = append(all, child)
			}
		}
	}
	return all
}
