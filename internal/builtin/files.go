// Package builtin holds the servers that come with Usher, each an mcp.Handler in this process.
//
// Files serves read_file, list_files and search_text inside one folder. os.Root keeps them in it: a path or a symbolic
// link that leaves it is refused by the operating system's own walk, not by comparing texts. They write nothing, open
// only regular files and folders, and bound what they read and what they answer.
//
// The package asks nobody for permission and writes no events: the way of the call does.
package builtin

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/usher-mcp/usher/mcp"
)

// Files returns the server of the file tools for the folder dir. It speaks both eras and may be used by many
// goroutines at once. Close gives back the folder's descriptor; calls after it fail. The folder stays the same one
// even if it is renamed.
func Files(dir string) (mcp.Handler, io.Closer, error) {
	if dir == "" {
		return nil, nil, fmt.Errorf("the file tools need a folder")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("the file tools' folder %q: %w", dir, err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, nil, fmt.Errorf("the file tools' folder can't be opened: %w", err)
	}
	f := &folder{root: root, names: []string{abs}}
	if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
		f.names = append(f.names, real)
	}
	return &files{f}, root, nil
}

type files struct{ *folder }

var _ mcp.Handler = (*files)(nil)

// Handle answers one request. Failures of a tool are results with isError; the error is ctx's own.
func (f *files) Handle(ctx context.Context, req *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
	if !req.IsRequest() {
		return nil, nil
	}
	version := mcp.Text(mcp.Path(req.Params, "_meta", mcp.MetaVersion))
	if version != "" && !slices.Contains(mcp.ModernRevisions(), version) {
		return unsupported(req.ID, version)
	}
	answer, err := f.answer(ctx, req)
	if err != nil || answer.Error != nil || version == "" {
		return answer, err
	}
	if mcp.Member(answer.Result, "resultType") == nil {
		answer.Result = mcp.SetMember(answer.Result, "resultType", mcp.Quote("complete"))
	}
	return answer, nil
}

func unsupported(id mcp.ID, version string) (*mcp.Message, error) {
	data, err := jsonv2.Marshal(map[string]any{"supported": mcp.ModernRevisions(), "requested": version}, jsonv2.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return mcp.ErrorAnswer(id, mcp.CodeUnsupportedVersion, "this protocol version is not supported", data), nil
}

func (f *files) answer(ctx context.Context, req *mcp.Message) (*mcp.Message, error) {
	switch req.Method {
	case mcp.MethodDiscover:
		return result(req.ID, discovered())
	case mcp.MethodInitialize:
		return result(req.ID, initialized(mcp.Text(mcp.Member(req.Params, "protocolVersion"))))
	case mcp.MethodPing:
		return mcp.Answer(req.ID, nil), nil
	case mcp.MethodListTools:
		return mcp.Answer(req.ID, []byte(`{"tools":`+tools+`,"ttlMs":3600000,"cacheScope":"public"}`)), nil
	case mcp.MethodCallTool:
		return f.call(ctx, req)
	}
	return mcp.ErrorAnswer(req.ID, mcp.CodeMethodNotFound, "this server has no method "+req.Method, nil), nil
}

func (f *files) call(ctx context.Context, req *mcp.Message) (*mcp.Message, error) {
	args := mcp.Member(req.Params, "arguments")
	var out *output
	var err error
	switch name := mcp.Text(mcp.Member(req.Params, "name")); name {
	case "read_file":
		out, err = run(ctx, args, f.read)
	case "list_files":
		out, err = run(ctx, args, f.list)
	case "search_text":
		out, err = run(ctx, args, f.search)
	default:
		return mcp.ErrorAnswer(req.ID, mcp.CodeInvalidParams,
			fmt.Sprintf("no tool %q; there are read_file, list_files and search_text", clip(name, 100)), nil), nil
	}
	if stopped := ctx.Err(); stopped != nil {
		return nil, stopped
	}
	if err != nil {
		return mcp.Answer(req.ID, mcp.TextResult(err.Error(), true)), nil
	}
	return result(req.ID, out)
}

func result(id mcp.ID, v any) (*mcp.Message, error) {
	b, err := jsonv2.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("the answer can't be encoded: %w", err)
	}
	return mcp.Answer(id, b), nil
}
