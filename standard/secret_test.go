package standard_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/standard"
)

const token = "tok-5up3r/s3cret+VALUE"

// leaky are servers that get the token and tell it to everybody.
const leaky = `{"mcpServers": {
  "quits": {"command": PROGRAM, "env": {"STANDARD_TEST_SERVER": "quits", "T": "${API_TOKEN}"}},
  "talks": {"command": PROGRAM, "env": {"STANDARD_TEST_SERVER": "talks", "T": "${API_TOKEN}"}},
  "web": {"reconnect": false, "url": "http://127.0.0.1:1/${API_TOKEN}", "headers": {"Authorization": "Bearer ${API_TOKEN}"}},
}}`

// G4: a value of ${API_TOKEN} is in no event, no error and no status, whatever a server does with it.
func TestSecretsStayInside(t *testing.T) {
	t.Setenv("API_TOKEN", token)
	h := newHome(t)
	h.write(t, leaky)
	host, s := h.open(t, standard.Options{})
	call := func(tool, args string) error {
		_, err := s.Call(t.Context(), tool, []byte(args))
		return err
	}
	errs := map[string]error{
		"a server that quits":   call("mcp.quits.get", `{}`),
		"an address":            call("mcp.web.get", `{}`),
		"an error as an answer": call("mcp.talks.get", `{"text":"fail"}`),
		"last words":            call("mcp.talks.get", `{"text":"die"}`),
	}
	for _, st := range host.Servers() {
		noSecret(t, st.Name+"'s status", fmt.Sprintf("%+v", st), token)
		if st.Err != nil {
			errs[st.Name+"'s status"] = st.Err
		}
	}
	for what, err := range errs {
		if err == nil {
			t.Errorf("%s: no error", what)
			continue
		}
		noSecret(t, what, fault.Of(err).Text(fault.English)+fault.Of(err).Text(fault.Chinese), token)
		for e := err; e != nil; e = errors.Unwrap(e) {
			noSecret(t, what, fmt.Sprintf("%+v", e), token)
		}
	}
	if text := errs["a server that quits"].Error(); !strings.Contains(text, "bad token [redacted:") {
		t.Errorf("the rest of its last words is lost: %s", text)
	}
	eventually(t, "talks started again", func() bool { return host.Servers()[1].State == "up" })
	if err := call("mcp.talks.get", `{"text":"`+token+`"}`); err != nil {
		t.Errorf("a call with the token in it: %v", err)
	}
	if err := host.Close(); err != nil {
		t.Error(err)
	}
	h.journalHasNone(t, 5, token)
}

// G4: where something long is cut for the log, no part of a secret is left at the cut.
func TestSecretsAtACut(t *testing.T) {
	t.Setenv("API_TOKEN", token)
	h := newHome(t)
	h.write(t, strings.ReplaceAll(leaky, `"quits",`, `"quits long",`))
	host, s := h.open(t, standard.Options{})
	part := token[:8]
	for _, text := range []string{"fail long", "stray long", "log long"} {
		_, err := s.Call(t.Context(), "mcp.talks.get", []byte(`{"text":"`+text+`"}`))
		noSecret(t, text, fmt.Sprint(err), part)
	}
	_, err := s.Call(t.Context(), "mcp.quits.get", nil)
	noSecret(t, "a server that quits", fmt.Sprint(err), part)
	for _, st := range host.Servers() {
		noSecret(t, st.Name+"'s status", fmt.Sprintf("%+v", st), part)
	}
	if err := host.Close(); err != nil {
		t.Error(err)
	}
	h.journalHasNone(t, 0, part)
}

func noSecret(t *testing.T, what, text, secret string) {
	t.Helper()
	if at := strings.Index(text, secret); at >= 0 {
		t.Errorf("%s shows the token, or part of it: …%s", what, text[max(0, at-80):min(len(text), at+80)])
	}
}

// journalHasNone reads the log as bytes. It wants at least so many places where the token was.
func (h home) journalHasNone(t *testing.T, least int, secret string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(h.data, "journal", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	redacted := 0
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			noSecret(t, "the log", line, secret)
		}
		redacted += strings.Count(string(b), "[redacted:")
	}
	if redacted < least {
		t.Errorf("the token was redacted %d times, want at least %d: did the servers tell it?", redacted, least)
	}
}
