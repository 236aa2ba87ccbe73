package condition

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"

	"github.com/usher-mcp/usher/permission"
)

const (
	// MaxSource bounds the text of a condition, in bytes.
	MaxSource = 4096

	// maxCost bounds an evaluation, in CEL's units: enough to search the largest arguments once, some tenths of a second.
	maxCost = 2_000_000

	maxNesting = 64 // of brackets and operators
	maxLoops   = 2  // of all(), exists(), map() … within each other
)

// Compiler reads conditions. It is safe for concurrent use.
type Compiler struct{ env *cel.Env }

// New returns a Compiler. To make one takes about a millisecond.
func New() (*Compiler, error) {
	options := append(variables(), risks()...)
	options = append(options,
		cel.CustomTypeAdapter(adapter{}),
		cel.ParserRecursionLimit(maxNesting), cel.ParserExpressionSizeLimit(MaxSource),
		cel.ASTValidators(cel.ValidateComprehensionNestingLimit(maxLoops), cel.ValidateRegexLiterals(), cel.ValidateTimestampLiterals(),
			cel.ValidateDurationLiterals(), literalPatterns{}, knownHints{}),
	)
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, fmt.Errorf("conditions: %w", err)
	}
	return &Compiler{env}, nil
}

// Error says where the text of a condition is wrong. Line and Column count from 1, Column in characters.
type Error struct {
	Line, Column int
	Message      string
}

// Error returns "line:column: message", without the line where the text has only one.
func (e *Error) Error() string {
	if e.Line <= 1 {
		return fmt.Sprintf("at character %d: %s", e.Column, e.Message)
	}
	return fmt.Sprintf("at line %d, character %d: %s", e.Line, e.Column, e.Message)
}

// Compile reads a condition. What is wrong with it is an *Error.
func (c *Compiler) Compile(source string) (*Condition, error) {
	if len(source) > MaxSource {
		return nil, &Error{1, MaxSource, fmt.Sprintf("a condition is at most %d bytes", MaxSource)}
	}
	if strings.TrimSpace(source) == "" {
		return nil, &Error{1, 1, "the condition is empty"}
	}
	ast, issues := c.env.Compile(source)
	if err := issues.Err(); err != nil {
		return nil, first(issues)
	}
	if t := ast.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, &Error{1, 1, fmt.Sprintf("a condition is true or false, and this is of the type %s", t)}
	}
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	if estimate, err := c.env.EstimateCost(ast, sizes{}); err != nil || estimate.Max > maxCost {
		options = append(options, cel.CostLimit(maxCost)) // counting takes time, and most conditions can't cost as much
	}
	program, err := c.env.Program(ast, options...)
	if err != nil {
		return nil, &Error{1, 1, err.Error()}
	}
	return &Condition{source, program}, nil
}

func first(issues *cel.Issues) error {
	all := issues.Errors()
	if len(all) == 0 {
		return &Error{1, 1, issues.Err().Error()}
	}
	e := all[0]
	message, _, _ := strings.Cut(e.Message, "\n")
	message = strings.ReplaceAll(message, " (in container '')", "")
	return &Error{max(e.Location.Line(), 1), max(e.Location.Column()+1, 1), message}
}

// Condition is a compiled condition. It is safe for concurrent use.
type Condition struct {
	source  string
	program cel.Program
}

var _ permission.Condition = (*Condition)(nil)

// String returns the condition's text.
func (c *Condition) String() string { return c.source }

// Holds evaluates the condition.
func (c *Condition) Holds(call *permission.Call) (bool, error) {
	v, _, err := c.program.Eval(&activation{call: call})
	if err != nil {
		return false, readable(err)
	}
	holds, ok := v.Value().(bool)
	if !ok {
		return false, fmt.Errorf("it is %s, and neither true nor false", v.Type().TypeName())
	}
	return holds, nil
}

func readable(err error) error {
	switch s := err.Error(); {
	case strings.Contains(s, "cost limit exceeded"):
		return errors.New("it takes too long")
	case strings.Contains(s, "no such key"):
		return fmt.Errorf("%w (has(args.NAME) && … asks whether it is there)", err)
	}
	return err
}

// sizes bounds what the estimate of a condition's cost doesn't know.
type sizes struct{}

var _ cost.Estimator = sizes{}

func (sizes) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	path := node.Path()
	if len(path) == 0 {
		return nil
	}
	if path[0] == "args" {
		return &cost.SizeEstimate{Max: 16 << 20}
	}
	return &cost.SizeEstimate{Max: 4096}
}

func (sizes) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}
