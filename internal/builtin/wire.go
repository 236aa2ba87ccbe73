package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/usher-mcp/usher/mcp"
)

// info names the server; its version changes with its tools.
func info() mcp.Implementation {
	return mcp.Implementation{Name: "usher-files", Title: "Files", Version: "1.0.0"}
}

const instructions = "Reads files in the working folder. Paths are relative to it."

type discovery struct {
	ResultType   string         `json:"resultType"`
	Versions     []string       `json:"supportedVersions"`
	Capabilities capabilities   `json:"capabilities"`
	Instructions string         `json:"instructions"`
	TTL          int            `json:"ttlMs"`
	Scope        string         `json:"cacheScope"`
	Meta         map[string]any `json:"_meta"`
}

type capabilities struct {
	Tools struct{} `json:"tools"`
}

func discovered() discovery {
	return discovery{
		ResultType: "complete", Versions: mcp.ModernRevisions(), Instructions: instructions,
		TTL: 3_600_000, Scope: "public", Meta: map[string]any{mcp.MetaServerInfo: info()},
	}
}

type initialization struct {
	Version      string             `json:"protocolVersion"`
	Capabilities capabilities       `json:"capabilities"`
	Info         mcp.Implementation `json:"serverInfo"`
	Instructions string             `json:"instructions"`
}

// initialized agrees to a legacy revision that we know, and offers the newest instead of any other.
func initialized(version string) initialization {
	known := mcp.LegacyRevisions()
	if !slices.Contains(known, version) {
		version = known[0]
	}
	return initialization{Version: version, Info: info(), Instructions: instructions}
}

// output is a tools/call result.
type output struct {
	Content    []block `json:"content"`
	Structured any     `json:"structuredContent"`
	IsError    bool    `json:"isError"`
}

type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// shown makes a result of what was found and of notes about it. Blocks are never empty: some models refuse those.
func shown(structured any, text string, notes ...string) *output {
	o := &output{Structured: structured}
	notes = slices.DeleteFunc(notes, func(n string) bool { return n == "" })
	for _, t := range []string{text, strings.Join(notes, " ")} {
		if t != "" {
			o.Content = append(o.Content, block{"text", t})
		}
	}
	return o
}

// run decodes the arguments of a tool and calls it. Names are case-sensitive and unknown ones are refused.
func run[A any](ctx context.Context, args json.RawMessage, tool func(context.Context, A) (*output, error)) (*output, error) {
	var a A
	if len(bytes.TrimSpace(args)) > 0 {
		if err := jsonv2.Unmarshal(args, &a, jsonv2.RejectUnknownMembers(true)); err != nil {
			return nil, wrongArguments(err)
		}
	}
	return tool(ctx, a)
}

func wrongArguments(err error) error {
	e, ok := errors.AsType[*jsonv2.SemanticError](err)
	if !ok {
		return errors.New("the arguments can't be read: send one JSON object")
	}
	field := strings.TrimPrefix(string(e.JSONPointer), "/")
	if errors.Is(err, jsonv2.ErrUnknownName) {
		return fmt.Errorf("wrong arguments: %q is not known to this tool; see its schema for the names", clip(field, 100))
	}
	if field == "" {
		return errors.New("wrong arguments: send one JSON object")
	}
	return fmt.Errorf("wrong arguments: %q can't be a %s; see the tool's schema", clip(field, 100), e.JSONKind)
}
