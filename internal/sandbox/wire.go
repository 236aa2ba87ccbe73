package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// What goes over the two pipes between us and a watchdog.
//
// Control, towards it: one command; then the pipe stays open until the tree is to
// end. Status, from it: "pid N", or "errno N" when the child could not be started;
// later "exit N" or "signal N"; then the pipe closes when the tree is gone.

const (
	statusPid    = "pid"
	statusErrno  = "errno"
	statusExit   = "exit"
	statusSignal = "signal"
	maxStatus    = 64
)

// maxCommand is above what any Linux takes for arguments and environment.
const maxCommand = 8 << 20

// encode makes four bytes of length and the fields with a NUL between them: none
// can hold one, and none has to be UTF-8.
func (c command) encode() ([]byte, error) {
	fields := append([]string{c.path, c.dir, strconv.Itoa(len(c.argv))}, c.argv...)
	body := strings.Join(append(fields, c.env...), "\x00")
	if len(body) > maxCommand {
		return nil, fmt.Errorf("the command line and environment take %d bytes, more than %d", len(body), maxCommand)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...), nil
}

func readCommand(r io.Reader) (command, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return command{}, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxCommand {
		return command{}, fmt.Errorf("a command of %d bytes is more than %d", n, maxCommand)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return command{}, err
	}
	fields := strings.Split(string(body), "\x00")
	if len(fields) < 4 {
		return command{}, errors.New("a command of too few fields")
	}
	argc, err := strconv.Atoi(fields[2])
	if err != nil || argc < 1 || argc > len(fields)-3 {
		return command{}, errors.New("a command with a wrong number of arguments")
	}
	return command{path: fields[0], dir: fields[1], argv: fields[3 : 3+argc], env: fields[3+argc:]}, nil
}

// lineReader is the part of bufio.Reader that readStatus needs. It has room for
// maxStatus bytes, and a longer line is an error.
type lineReader interface {
	ReadSlice(delim byte) ([]byte, error)
}

func readStatus(r lineReader) (kind string, n int, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return "", 0, err
	}
	kind, number, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
	n, err = strconv.Atoi(number)
	return kind, n, err
}
