package flows

import (
	"os"
	"path/filepath"
	"testing"
)

// worst is what an agent does that takes any text for the worst one: it tries every way.
func worst(t *testing.T, w *World, a *Agent, _ Text, page string) {
	ctx := t.Context()
	a.Read(ctx, page)
	a.Obey(ctx, []step{
		{"mcp.mail.read_mail", ""}, {"mcp.net.lookup", ""}, {"mcp.net.lookup", "base64"}, {"mcp.web.fetch", "hex"}, {"mcp.notes.write_note", ""},
	})
	newSession(t, a)
	a.Obey(ctx, []step{{"mcp.net.lookup", "reverse"}})
	other := newAgent(t, w, page+"'s friend")
	other.Obey(ctx, []step{{"mcp.notes.read_note", ""}, {"mcp.net.lookup", ""}})
	other.Leave()
}

// The same with the texts of a corpus (make flows CORPUS=file), or our own: under the default policy nothing leaves. Of the
// texts nothing is printed.
func TestCorpus(t *testing.T) {
	t.Parallel()
	all := ownTexts(t)
	if *corpus != "" {
		var err error
		if all, err = ReadTexts(*corpus); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(t, Options{})
	leaks, asks, _ := run(t, w, all, worst)
	t.Logf("%d texts, each obeyed in 7 ways: %d leaks, %d asks for a flow", len(all), leaks, asks)
	if leaks > 0 || asks < 5*len(all) {
		t.Errorf("%d leaks, %d asks", leaks, asks)
	}
}

// A reader of corpora says where a line is broken, not what it says.
func TestReadTexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	if err := os.WriteFile(path, []byte("{\"text\":\"a\"}\n\n{\"kind\":\"split\",\"parts\":[\"b\",\"c\"]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := ReadTexts(path)
	if err != nil || len(all) != 2 || all[0].Parts[0] != "a" || len(all[1].Parts) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
	if err := os.WriteFile(path, []byte("{\"text\":\"a\"}\nsecret words\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadTexts(path); err == nil || err.Error() != path+":2 is no JSON object with a text" {
		t.Errorf("%v", err)
	}
}
