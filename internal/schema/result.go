package schema

import (
	"encoding/json"
	"errors"

	"github.com/usher-mcp/usher/mcp"
)

// maxResult bounds the structured content that is checked: the caller waits for it (some 15 ms for as much as this), and
// decoded it takes ten times the memory.
const maxResult = 256 << 10

const structured = "structuredContent"

// CheckResult checks the structuredContent of a tools/call result against the tool's outputSchema: nil, or a *Violation
// whose Field begins with "structuredContent". It is a finding to be told and logged; the result goes on as it came.
//
// A result without structuredContent is a Violation too, even if the schema can't be compiled (2025-06-18, "Output
// Schema"). Nothing is wrong with a failure (isError), with what isn't a result yet (a resultType other than "complete"),
// and with any result if there is no schema. As for Check, content of more than 256 KiB, or whose check would cost too
// much, passes; Err tells that a schema can't be used. Any JSON value may be structuredContent; numbers are compared
// exactly. The caller has parsed the result with mcp.Parse or mcp.Validate.
func (c *Checker) CheckResult(result json.RawMessage) error {
	err := c.Err()
	if errors.Is(err, errNoSchema) || mcp.IsError(result) || unfinished(result) {
		return nil
	}
	content := mcp.Member(result, structured)
	switch {
	case content == nil:
		return violation(structured, "is missing, though the tool's outputSchema promises it")
	case err != nil || len(content) > maxResult || c.glance.accepts(content):
		return nil
	}
	v, err := decode(content)
	if err == nil {
		err = c.check(v)
	}
	if found, ok := errors.AsType[*Violation](err); ok {
		return violation(under(structured, found.Field), found.Message)
	}
	return nil
}

func unfinished(result json.RawMessage) bool {
	kind := mcp.Member(result, "resultType")
	return kind != nil && mcp.Text(kind) != "complete"
}

// under puts a field under another.
func under(parent, field string) string {
	switch {
	case field == "":
		return parent
	case field[0] == '[':
		return parent + field
	}
	return parent + "." + field
}
