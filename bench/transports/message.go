package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/usher-mcp/usher/mcp"
)

const maxLine = 1 << 20

func params(size int) []byte {
	return []byte(`{"name":"echo","arguments":{"text":"` + strings.Repeat("x", size) + `"}}`)
}

// request is what all ways send.
func request(size int) []byte {
	return mcp.Request("7", mcp.MethodCallTool, params(size)).AppendTo(nil)
}

// echo answers with the params as usher's server ends do; rawAnswer does with next to no work.
var echo mcp.HandlerFunc = func(_ context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
	return mcp.Answer(m.ID, m.Params), nil
}

// rawAnswer returns nil for what is no request of ours, such as a notification.
func rawAnswer(message []byte) []byte {
	const head, tail = `{"jsonrpc":"2.0","id":7,`, `"params":`
	i := bytes.Index(message, []byte(tail))
	if !bytes.HasPrefix(message, []byte(head)) || i < 0 {
		return nil
	}
	return append([]byte(head+`"result":`), message[i+len(tail):]...)
}

// answerLines is a server on a pipe.
func answerLines(in io.Reader, out io.Writer) error {
	r := bufio.NewReaderSize(in, maxLine)
	for {
		line, err := r.ReadSlice('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if a := rawAnswer(line); a != nil {
			if _, err := out.Write(a); err != nil { // with the end of the line
				return err
			}
		}
	}
}

// check tells an answer from anything else.
func check(answer []byte, size int) error {
	if len(answer) < size || !bytes.Contains(answer[:min(len(answer), 64)], []byte(`"result"`)) {
		return fmt.Errorf("the answer is %.200s", answer)
	}
	return nil
}
