package foreign

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	maxSize  = 4 << 20
	maxDepth = 128
)

// broken is why nothing of a file can be read. Its text holds no piece of the file.
type broken struct {
	line int // from 1; 0 is unknown
	why  string
}

var _ error = (*broken)(nil)

func (b *broken) Error() string {
	if b.line > 0 {
		return fmt.Sprintf("line %d: %s", b.line, b.why)
	}
	return b.why
}

// ReadFile returns what is in a regular file, and of a larger one a little more than the 4 MiB that Parse takes. It never
// waits, neither for a FIFO nor for a device.
func ReadFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openAtOnce, 0)
	if err != nil {
		return nil, unreadable(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, unreadable(err)
	case info.IsDir():
		return nil, &broken{why: "this is a folder; give the file in it"}
	case !info.Mode().IsRegular():
		return nil, &broken{why: "this is no regular file; give a file"}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, unreadable(err)
	}
	return data, nil
}

func unreadable(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err // the path is shown beside it
	}
	return fmt.Errorf("can't be read: %w", err)
}

// parse reads a file by the ending of its name: TOML, YAML, or else JSON with comments.
func parse(name string, data []byte) (*node, error) {
	if len(data) > maxSize {
		return nil, &broken{why: "larger than 4 MiB; it isn't read"}
	}
	text, err := decode(data)
	if err != nil {
		return nil, err
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".toml":
		return parseTOML(text)
	case ".yaml", ".yml":
		return parseYAML(text)
	}
	return parseJSON(text)
}

// decode makes UTF-8 of a text with any byte order mark.
func decode(data []byte) ([]byte, error) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		data = data[3:]
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order = binary.BigEndian
	}
	if order != nil {
		data = data[2:]
		if len(data)%2 != 0 {
			return nil, &broken{why: "half a character at the end; save the file as UTF-8"}
		}
		units := make([]uint16, len(data)/2)
		for i := range units {
			units[i] = order.Uint16(data[2*i:])
		}
		data = []byte(string(utf16.Decode(units)))
	}
	if !utf8.Valid(data) {
		return nil, &broken{line: 1 + bytes.Count(valid(data), []byte("\n")), why: "a byte that is not UTF-8; save the file as UTF-8"}
	}
	return data, nil
}

// valid is what comes before the first byte that isn't UTF-8.
func valid(data []byte) []byte {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return data[:i]
		}
		i += size
	}
	return data
}
