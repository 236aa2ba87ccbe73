package schema

import (
	"strings"
	"testing"
	"time"
)

// Neither a schema nor arguments that others wrote may panic, hang, or put an address or a line end in a message.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(fileSchema), []byte(`{"path":1}`))
	f.Add([]byte(`{"anyOf":[{"type":"string"},{"type":"object","required":["a"]}]}`), []byte(`{}`))
	f.Add([]byte(`{"properties":{"a":{"$ref":"#"}},"additionalProperties":false}`), []byte(`{"a":{"a":{"b":1}}}`))
	f.Add([]byte(`{"patternProperties":{"^x":{"multipleOf":2}},"propertyNames":{"maxLength":3}}`), []byte(`{"x":3,"long":1}`))
	f.Add([]byte(`{"$id":"t","$defs":{"a":{"$anchor":"b"}},"$ref":"#b","uniqueItems":true}`), []byte(`[1,1.0]`))
	f.Add([]byte(bomb(20)), []byte(`[]`))
	f.Fuzz(func(t *testing.T, schema, args []byte) {
		start := time.Now()
		c, err := Compile(schema)
		if err == nil {
			err = c.Check(args)
			if again := c.Check(args); (err == nil) != (again == nil) || err != nil && err.Error() != again.Error() {
				t.Fatalf("%v, then %v", err, again)
			}
		}
		if err != nil && strings.Contains(err.Error(), "schema.invalid") {
			t.Fatalf("an address in %q", err)
		}
		if d := time.Since(start); d > 20*time.Second {
			t.Fatalf("took %v", d)
		}
	})
}
