package builtin

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// folder is the one folder that the tools see.
type folder struct {
	root  *os.Root
	names []string // its absolute paths: as given, and without symbolic links
}

// maxPath bounds a path that a caller gives.
const maxPath = 4096

// local turns what a caller wrote into a clean path below the folder. An absolute path into the folder counts as the
// rest of it. Whether symbolic links leave the folder is seen only when it is opened.
func (f *folder) local(name string) (string, error) {
	if len(name) > maxPath {
		return "", fmt.Errorf("the path is longer than %d bytes", maxPath)
	}
	if strings.ContainsRune(name, 0) {
		return "", errors.New("the path holds a zero byte")
	}
	if slices.Contains(strings.Split(name, "/"), "..") {
		return "", fmt.Errorf("%s: \"..\" is not allowed; give a path relative to the working folder", show(name))
	}
	if !path.IsAbs(name) {
		return path.Clean(cmp.Or(name, ".")), nil
	}
	for _, own := range f.names {
		if rest, ok := strings.CutPrefix(path.Clean(name), strings.TrimSuffix(own, "/")); ok && (rest == "" || rest[0] == '/') {
			return path.Clean("./" + rest), nil
		}
	}
	return "", fmt.Errorf("%s lies outside the working folder; give a path relative to it", show(name))
}

// stat follows symbolic links inside the folder.
func (f *folder) stat(name string) (fs.FileInfo, error) {
	info, err := f.root.Stat(name)
	if err != nil {
		return nil, f.explain(name, err)
	}
	return info, nil
}

// open opens a regular file. It looks before it opens, because opening a device may do something, and again after,
// because the file may have been exchanged; a FIFO that came in between doesn't block it.
func (f *folder) open(name string) (*os.File, fs.FileInfo, error) {
	info, err := f.stat(name)
	if err == nil {
		err = regular(name, info)
	}
	if err != nil {
		return nil, nil, err
	}
	file, err := f.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, f.explain(name, err)
	}
	if info, err = file.Stat(); err == nil {
		err = regular(name, info)
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

func regular(name string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return fmt.Errorf("%s is a folder; list_files shows what is in it", show(name))
	}
	return fmt.Errorf("%s is no regular file but a device, a pipe or a socket, which is not read", show(name))
}

// maxEntries bounds how many entries of one folder are looked at.
const maxEntries = 100_000

// entries returns what is in a folder, sorted by name, and whether there is more.
func (f *folder) entries(name string) (list []fs.DirEntry, more bool, err error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|nonblock|directory, 0)
	if err != nil {
		return nil, false, f.explain(name, err)
	}
	defer func() { _ = file.Close() }()
	list, err = file.ReadDir(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, f.explain(name, err)
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, len(list) == maxEntries, nil
}

// explain says what to do about a failure. It shows no absolute path.
func (f *folder) explain(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if near := f.otherCase(name); near != "" {
			return fmt.Errorf("there is no %s; did you mean %s?", show(name), show(near))
		}
		return fmt.Errorf("there is no %s; list_files shows what there is", show(name))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s may not be read: permission denied", show(name))
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s: a part of the path is a file, not a folder", show(name))
	case errors.Is(err, os.ErrClosed):
		return errors.New("the file tools have been closed")
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	if strings.Contains(err.Error(), "escapes") { // os.Root's error has no exported value
		return fmt.Errorf("%s is or passes a symbolic link that is absolute or leaves the working folder, which is not followed", show(name))
	}
	return fmt.Errorf("%s can't be read: %w", show(name), err)
}

// otherCase finds a name that differs only in upper and lower case.
func (f *folder) otherCase(name string) string {
	dir, base := path.Split(name)
	list, _, err := f.siblings(path.Clean(cmp.Or(dir, ".")))
	if err != nil {
		return ""
	}
	for _, e := range list {
		if strings.EqualFold(e.Name(), base) {
			return dir + e.Name()
		}
	}
	return ""
}

// siblings is entries for a folder that may not be there.
func (f *folder) siblings(dir string) ([]fs.DirEntry, bool, error) {
	if info, err := f.root.Stat(dir); err != nil || !info.IsDir() {
		return nil, false, fs.ErrNotExist
	}
	return f.entries(dir)
}

// show writes a path for a message.
func show(name string) string { return clip(plain(name), 300) }

// plain writes a path on one line: quoted if it could be misread.
func plain(name string) string {
	odd := func(r rune) bool {
		return unicode.IsControl(r) || r == utf8.RuneError || r == '\u2028' || r == '\u2029'
	}
	if strings.IndexFunc(name, odd) >= 0 {
		return strconv.Quote(name)
	}
	return name
}

// clip shortens s to n bytes or a few less, at the border of a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// valid replaces what isn't UTF-8, which JSON can't hold.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
