package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
)

// step is what a test tells the agent to do.
type step struct {
	URL   string   // connect over HTTP
	Stdio []string // start this usher and connect
	Name  string   // of the client, in the handshake
	Tool  string   // call it
	Args  string   // of the call, sent as they are
	How   string
	Run   []string // start this program
	List  bool     // ask for the tools
}

// done is what became of it.
type done struct {
	Text   string // of a result, or of an error
	Failed bool
	Ran    ran
}

// agent does one step after the other, each a line of stdin, and answers each with a line. It has one connection.
func agent() {
	var ask func(method string, params any) (json.RawMessage, error)
	out := json.NewEncoder(os.Stdout)
	for in := json.NewDecoder(os.Stdin); ; {
		var s step
		if in.Decode(&s) != nil {
			return
		}
		var d done
		var err error
		switch {
		case s.URL != "":
			ask = overHTTP(s.URL)
			err = hello(ask, s.Name)
		case len(s.Stdio) > 0:
			if ask, err = overStdio(s.Stdio); err == nil {
				err = hello(ask, s.Name)
			}
		case s.Tool != "":
			d, err = callTool(ask, s)
		case s.List:
			var r json.RawMessage
			r, err = ask("tools/list", map[string]any{})
			d.Text = string(r)
		default:
			d.Ran = run(s.How, s.Run)
		}
		if err != nil {
			d.Text, d.Failed = err.Error(), true
		}
		_ = out.Encode(d)
	}
}

func hello(ask func(string, any) (json.RawMessage, error), name string) error {
	_, err := ask("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": name, "version": "1"},
	})
	return err
}

func callTool(ask func(string, any) (json.RawMessage, error), s step) (d done, err error) {
	raw, err := ask("tools/call", exact(fmt.Sprintf(`{"name":%q,"arguments":%s}`, s.Tool, s.Args)))
	if err != nil {
		return d, err
	}
	var r struct {
		IsError bool
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return d, err
	}
	d.Failed = r.IsError
	for _, c := range r.Content {
		d.Text += c.Text
	}
	return d, nil
}

// exact is JSON that is sent byte for byte.
type exact string

// request doesn't encode what is exact, for that would take its spaces out.
func request(id int, method string, params any) ([]byte, error) {
	text, ok := params.(exact)
	if !ok {
		b, err := json.Marshal(params)
		if err != nil {
			return nil, err
		}
		text = exact(b)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, text), nil
}

type reply struct {
	ID     json.RawMessage
	Result json.RawMessage
	Error  *struct{ Message string }
}

func (r reply) result() (json.RawMessage, error) {
	if r.Error != nil {
		return nil, errors.New(r.Error.Message)
	}
	return r.Result, nil
}

func overHTTP(url string) func(string, any) (json.RawMessage, error) {
	session, id := "", 0
	return func(method string, params any) (json.RawMessage, error) {
		id++
		body, err := request(id, method, params)
		if err != nil {
			return nil, err
		}
		req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		if s := res.Header.Get("Mcp-Session-Id"); s != "" {
			session = s
		}
		text, err := io.ReadAll(res.Body)
		if err != nil {
			return nil, err
		}
		var r reply
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("%d %s", res.StatusCode, text)
		}
		return r.result()
	}
}

func overStdio(argv []string) (func(string, any) (json.RawMessage, error), error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	id, lines := 0, bufio.NewReader(out)
	return func(method string, params any) (json.RawMessage, error) {
		id++
		body, err := request(id, method, params)
		if err != nil {
			return nil, err
		}
		if _, err := in.Write(append(body, '\n')); err != nil {
			return nil, err
		}
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return nil, err
			}
			var r reply
			if json.Unmarshal(line, &r) == nil && string(r.ID) == fmt.Sprint(id) {
				return r.result()
			}
		}
	}, nil
}
