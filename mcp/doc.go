// Package mcp holds the words of the Model Context Protocol: messages as raw JSON, the two interfaces that everything
// which asks and answers implements, method names, `_meta` keys, revisions and error codes.
//
// A Message keeps the bytes of its params, result and error as they came: Usher passes bytes on, decodes only what it
// must look into, and never encodes again what it decoded. Parse refuses what two readers could understand
// differently (duplicate keys, invalid UTF-8) and what is nested too deeply.
//
// The package opens no connection, keeps no state and decides nothing.
package mcp
