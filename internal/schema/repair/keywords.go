package repair

import (
	"bytes"
	"encoding/json"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/usher-mcp/usher/mcp"
)

type kind uint8

const (
	kindUnknown kind = iota
	kindData         // any value
	kindText         // annotations and formats
	kindFlag
	kindNumber
	kindCount
	kindList // array of any values
	kindEnum
	kindType
	kindPattern
	kindNames
	kindNameMap
	kindSchema
	kindItems // a schema, or in old drafts an array of schemas
	kindSchemas
	kindMap // names to schemas
	kindDependencies
	kindDefs   // a map of schemas that is in force only where it is referred to
	kindMeta   // of no use to a model
	kindLost   // in force, but nothing that an API takes
	kindLinked // handled with another keyword
)

var keywords = map[string]kind{
	"default": kindData, "const": kindData, "example": kindData,
	"title": kindText, "description": kindText, "format": kindText, "$comment": kindText, "contentEncoding": kindText, "contentMediaType": kindText,
	"uniqueItems": kindFlag, "deprecated": kindFlag, "readOnly": kindFlag, "writeOnly": kindFlag,
	"minimum": kindNumber, "maximum": kindNumber, "exclusiveMinimum": kindNumber, "exclusiveMaximum": kindNumber, "multipleOf": kindNumber,
	"minLength": kindCount, "maxLength": kindCount, "minItems": kindCount, "maxItems": kindCount, "minProperties": kindCount,
	"maxProperties": kindCount, "minContains": kindCount, "maxContains": kindCount,
	"examples": kindList, "enum": kindEnum, "type": kindType, "pattern": kindPattern,
	"required": kindNames, "dependentRequired": kindNameMap,
	"not": kindSchema, "if": kindSchema, "then": kindSchema, "else": kindSchema, "contains": kindSchema, "propertyNames": kindSchema,
	"additionalProperties": kindSchema, "items": kindItems, "additionalItems": kindSchema,
	"anyOf": kindSchemas, "oneOf": kindSchemas, "allOf": kindSchemas, "prefixItems": kindSchemas,
	"properties": kindMap, "patternProperties": kindMap, "dependentSchemas": kindMap, "dependencies": kindDependencies,
	"$defs": kindDefs, "definitions": kindDefs,
	"$schema": kindMeta, "$id": kindMeta, "$anchor": kindMeta, "$dynamicAnchor": kindMeta, "$recursiveAnchor": kindMeta,
	"$vocabulary": kindMeta, "contentSchema": kindMeta,
	"unevaluatedItems": kindLost, "unevaluatedProperties": kindLost, "$dynamicRef": kindLost, "$recursiveRef": kindLost,
	"$ref": kindLinked,
}

// annotates reports whether a keyword says nothing about what is valid.
func annotates(key string) bool {
	switch key {
	case "title", "description", "default", "example", "examples", "$comment", "deprecated", "readOnly", "writeOnly",
		"contentEncoding", "contentMediaType", "format":
		return true
	}
	return keywords[key] == kindUnknown
}

var types = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

// wellFormed reports whether data may stand under its keyword (2020-12, the meta-schema).
func wellFormed(key string, k kind, raw json.RawMessage) bool {
	c := raw[0]
	switch k {
	case kindText:
		return c == '"'
	case kindFlag:
		return c == 't' || c == 'f'
	case kindNumber:
		return number(raw) && (key != "multipleOf" || c != '-' && bytes.ContainsAny(mantissa(raw), "123456789"))
	case kindCount:
		return number(raw) && !bytes.ContainsAny(raw, "-.eE")
	case kindList:
		return c == '['
	case kindEnum:
		return c == '[' && some(raw)
	case kindUnknown:
		return harmless(raw)
	}
	return true
}

// number leaves out what overflows a reader's floating point.
func number(raw []byte) bool {
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') || len(raw) > 300 {
		return false
	}
	exponent := strings.TrimLeft(string(raw[len(mantissa(raw)):]), "eE")
	n, err := strconv.Atoi(exponent)
	return exponent == "" || err == nil && n >= -300 && n <= 300
}

func mantissa(raw []byte) []byte {
	if i := bytes.IndexAny(raw, "eE"); i >= 0 {
		return raw[:i]
	}
	return raw
}

func some(array []byte) bool {
	for range mcp.Elements(array) {
		return true
	}
	return false
}

// harmless is what a vendor's keyword may hold: a reader that looks for schemas everywhere finds none.
func harmless(raw json.RawMessage) bool {
	for e := range mcp.Elements(raw) {
		if e[0] == '{' || e[0] == '[' {
			return false
		}
	}
	return raw[0] != '{'
}

// portable reports whether all common engines compile the pattern, and to the same.
func portable(pattern string) bool {
	if len(pattern) > 2000 {
		return false
	}
	for _, special := range []string{`\p`, `\P`, `\A`, `\z`, `\Q`, `\E`, `\C`, `\a`, `\x{`, `[[:`, `(?`} {
		if strings.Contains(strings.ReplaceAll(strings.ReplaceAll(pattern, `\\`, ""), `(?:`, ""), special) {
			return false
		}
	}
	_, err := syntax.Parse(pattern, syntax.Perl) // compiling it could take long, and finds nothing more
	return err == nil
}

// typeNames returns the types without repetition; false if one of them isn't a type.
func typeNames(raw json.RawMessage) ([]string, bool) {
	if raw[0] == '"' {
		return []string{mcp.Text(raw)}, slices.Contains(types, mcp.Text(raw))
	}
	var list []string
	for e := range mcp.Elements(raw) {
		t := mcp.Text(e)
		if !slices.Contains(types, t) {
			return nil, false
		}
		if !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	return list, len(list) > 0
}
