package repair_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher/internal/schema/repair"
	"github.com/usher-mcp/usher/mcp"
)

// many joins texts made of the numbers below n.
func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// A5: what a hostile server lists doesn't hold up whoever reads it. Each of these took from 5 s to 3 min while a lookup,
// a set or a comparison was made anew for each part; a bound that tells such times from some tenths of a second suffices.
func TestHostileSchemas(t *testing.T) {
	for name, schema := range map[string]string{
		"pointers to nothing": `{"type":"object","properties":{` + many(18000, `"%[1]x":{"$ref":"#/%[1]x"}`) + `}}`,
		"pointers": `{"type":"object","properties":{` + many(8000, `"%[1]x":{"$ref":"#/$defs/%[1]x"}`) + `},
			"$defs":{` + many(8000, `"%x":{"type":"array"}`) + `}}`,
		"anchors": `{"type":"object","properties":{` + many(18000, `"%[1]x":{"$ref":"#a%[1]x"}`) + `}}`,
		"one large definition": `{"type":"object","properties":{` + many(9000, `"%x":{"$ref":"#/$defs/d"}`) + `},
			"$defs":{"d":{"enum":[` + many(35000, `%d`) + `],"description":"x"}}}`,
		"keywords":     `{"type":"object","properties":{"a":{` + many(50000, `"%x":1`) + `}}}`,
		"one property": `{"type":"object","allOf":[` + many(9000, `{"properties":{"a":{"minimum":%d}}}`) + `]}`,
		"patterns": `{"type":"object","properties":{` +
			many(250, `"%d":{"pattern":"`+strings.Repeat(`((a{30}){30}){1}`, 120)+`"}`) + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			started := time.Now()
			r := repair.Repair(json.RawMessage(schema))
			if took := time.Since(started); took > 8*time.Second {
				t.Errorf("%d bytes took %v", len(schema), took)
			}
			if err := mcp.Validate(r.Schema); err != nil {
				t.Error(err)
			}
		})
	}
}
