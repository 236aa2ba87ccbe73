package flows

import (
	"encoding/base64"
	"strings"
	"testing"
)

// The search finds a secret in each shape, and what is left of it; and nothing where there is none.
func TestLeaks(t *testing.T) {
	const secret = "pin-ABCDEFGHIJKLMNOPQRSTUVWXYZ-end"
	all := shapes(secret)
	for name, text := range map[string]string{
		"plain": "see " + secret, "a part": "see FGHIJKLMN.", "hex": written("x"+secret, "hex"), "HEX": strings.ToUpper(written(secret, "hex")),
		"reversed": written(secret, "reverse"), "base64": written(secret, "base64"), "base64, 1": written("x"+secret, "base64"),
		"base64, 2": written("xy"+secret, "base64"), "base64 of hex is one shape too many, but reversed base64 is not": written(reversed(secret), "base64"),
		"for addresses": base64.URLEncoding.EncodeToString([]byte("??" + secret)),
	} {
		if !leaks([]byte(`{"q":"`+text+`"}`), all) {
			t.Errorf("%s isn't found", name)
		}
	}
	if leaks([]byte(`{"q":"pin- and -end are in many texts"}`), all) {
		t.Error("it is found where it isn't")
	}
}
