package repair_test

import (
	"encoding/json"
	"fmt"

	"github.com/usher-mcp/usher/internal/schema/repair"
)

func Example() {
	r := repair.Repair(json.RawMessage(`{"properties":{"ids[]":{"type":"array"}},"required":["ids[]"]}`))
	fmt.Println(string(r.Schema))
	for _, change := range r.Changes {
		fmt.Println(change)
	}
	args, err := r.Arguments(json.RawMessage(`{"ids__": [1.0]}`))
	fmt.Println(string(args), err)
	// Output:
	// {"type":"object","properties":{"ids__":{"type":"array","items":{},"description":"Original name: ids[]"}},"required":["ids__"]}
	// /ids__: an array gets the items that it lacks
	// root: "ids[]" is called ids__ toward the model (and in 1 more places)
	// root: the type is object
	// {"ids[]": [1.0]} <nil>
}
