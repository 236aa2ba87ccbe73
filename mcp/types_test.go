package mcp

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// E4: cut by characters, marked, and only where it must be.
func TestCut(t *testing.T) {
	for in, want := range map[string]int{strings.Repeat("ä", 2048): 2048, strings.Repeat("ä", 2049): 2048, "short": 5, "": 0} {
		got := Cut(in, 2048)
		if n := utf8.RuneCountInString(got); n != want || strings.HasSuffix(got, "[cut by usher]") != (utf8.RuneCountInString(in) > 2048) {
			t.Errorf("%d characters became %d: …%s", utf8.RuneCountInString(in), n, got[max(0, len(got)-20):])
		}
	}
}

func TestResultPreview(t *testing.T) {
	result := []byte(`{"content":[{"type":"text","text":"one"},{"type":"image","data":"x"},{"type":"text","text":"two"}]}`)
	if got := ResultText(result); got != "one\ntwo" {
		t.Errorf("got %q", got)
	}
	if got := ResultPreview(result, 5); got != "one\nt" {
		t.Errorf("got %q", got)
	}
}
