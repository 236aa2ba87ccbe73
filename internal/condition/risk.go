package condition

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/usher-mcp/usher/permission"
)

// risks declares the names of the risks as numbers, and lets them be written as texts where they stand beside `risk`.
func risks() []cel.EnvOption {
	var options []cel.EnvOption
	for r := permission.Read; r <= permission.Destructive; r++ {
		options = append(options, cel.Constant(r.String(), cel.IntType, types.Int(r)))
	}
	for _, op := range []string{operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.In} {
		options = append(options, cel.Macros(cel.GlobalMacro(op, 2, quoted(op))))
	}
	return options
}

func quoted(op string) cel.MacroFactory {
	return func(eh cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		left, right := args[0], args[1]
		if !isRisk(left) && !isRisk(right) {
			return nil, nil
		}
		left, err := unquote(eh, left)
		if err != nil {
			return nil, err
		}
		if right, err = unquote(eh, right); err != nil {
			return nil, err
		}
		return eh.NewCall(op, left, right), nil
	}
}

func isRisk(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == "risk" }

func unquote(eh cel.MacroExprFactory, e ast.Expr) (ast.Expr, *common.Error) {
	switch e.Kind() {
	case ast.LiteralKind:
		name, ok := e.AsLiteral().(types.String)
		if !ok {
			return e, nil
		}
		r, err := permission.ParseRisk(string(name))
		if err != nil {
			return nil, eh.NewError(e.ID(), err.Error())
		}
		return eh.NewLiteral(types.Int(r)), nil
	case ast.ListKind:
		elements := e.AsList().Elements()
		all := make([]ast.Expr, len(elements))
		for i, element := range elements {
			var err *common.Error
			if all[i], err = unquote(eh, element); err != nil {
				return nil, err
			}
		}
		return eh.NewList(all...), nil
	}
	return e, nil
}
