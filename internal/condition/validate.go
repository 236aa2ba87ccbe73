package condition

import (
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
)

// literalPatterns refuses a matches() whose pattern comes out of the call: it would be compiled at each.
type literalPatterns struct{}

var _ cel.ASTValidator = literalPatterns{}

// Name names the validator.
func (literalPatterns) Name() string { return "usher.literalPatterns" }

// Validate reports patterns that aren't written out.
func (literalPatterns) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	for _, e := range ast.MatchDescendants(ast.NavigateAST(a), ast.FunctionMatcher("matches")) {
		args := e.AsCall().Args()
		if pattern := args[len(args)-1]; pattern.Kind() != ast.LiteralKind {
			issues.ReportErrorAtID(pattern.ID(), "the pattern of matches() has to be written out")
		}
	}
}

// knownHints refuses names behind `annotations` that MCP doesn't have.
type knownHints struct{}

var _ cel.ASTValidator = knownHints{}

// Name names the validator.
func (knownHints) Name() string { return "usher.knownHints" }

// Validate reports unknown names.
func (knownHints) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	for _, e := range ast.MatchDescendants(ast.NavigateAST(a), ast.KindMatcher(ast.SelectKind)) {
		s := e.AsSelect()
		if o := s.Operand(); o.Kind() != ast.IdentKind || o.AsIdent() != "annotations" {
			continue
		}
		if name := s.FieldName(); name != "title" && !slices.Contains(hints, name) {
			issues.ReportErrorAtID(e.ID(), "annotations has no %q: write title, readOnlyHint, destructiveHint, idempotentHint or openWorldHint", name)
		}
	}
}
