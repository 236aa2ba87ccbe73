package sandbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// B1
func TestEnviron(t *testing.T) {
	host := []string{
		"SECRET_TOKEN=s", "PATH=/first", "PATH=/bin", "LC_TIME=C", "LCX=no", "HOME=/h",
		"https_proxy=http://p", "HTTPS_PROXY=http://P", "NODE_EXTRA_CA_CERTS=/ca", "LD_PRELOAD=x",
		"TERM=() { :; }", "broken", "USER=", "AWS_SECRET_ACCESS_KEY=s", "LANG=de",
	}
	entry := map[string]string{"TOKEN": "a=b", "LANG": "en", "EMPTY": ""}
	want := []string{
		"EMPTY=", "HOME=/h", "HTTPS_PROXY=http://P", "LANG=en", "LC_TIME=C", "NODE_EXTRA_CA_CERTS=/ca",
		"PATH=/bin", "TOKEN=a=b", "USER=", "https_proxy=http://p",
	}
	if diff := cmp.Diff(want, Environ(host, entry)); diff != "" {
		t.Error(diff)
	}
	if got := Environ(nil, nil); len(got) != 0 {
		t.Errorf("nothing made %q", got)
	}
}
