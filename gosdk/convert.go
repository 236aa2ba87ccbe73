package gosdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/usher-mcp/usher/mcp"
)

// toSDK makes a message of ours one of theirs. The SDK reads it after Send has returned, hence the copies.
func toSDK(m *mcp.Message) (jsonrpc.Message, error) {
	id, err := idToSDK(m.ID)
	if err != nil {
		return nil, err
	}
	if !m.IsAnswer() {
		return &jsonrpc.Request{ID: id, Method: m.Method, Params: bytes.Clone(m.Params)}, nil
	}
	if m.Error == nil {
		return &jsonrpc.Response{ID: id, Result: bytes.Clone(m.Result)}, nil
	}
	e := new(jsonrpc.Error)
	if err := json.Unmarshal(m.Error, e); err != nil {
		return nil, fmt.Errorf("the error of an answer is no JSON-RPC error: %w", err)
	}
	return &jsonrpc.Response{ID: id, Error: e}, nil
}

// fromSDK makes a message of theirs one of ours.
func fromSDK(theirs jsonrpc.Message) (*mcp.Message, error) {
	switch m := theirs.(type) {
	case *jsonrpc.Request:
		return mcp.Request(idFromSDK(m.ID), m.Method, m.Params), nil // without an id: a notification
	case *jsonrpc.Response:
		if m.Error == nil {
			return mcp.Answer(idFromSDK(m.ID), m.Result), nil
		}
		whole, err := jsonrpc.EncodeMessage(m) // only the SDK knows how its errors are written
		if err != nil {
			return nil, err
		}
		return &mcp.Message{ID: idFromSDK(m.ID), Error: mcp.Member(whole, "error")}, nil
	}
	return nil, fmt.Errorf("the SDK sent a %T", theirs)
}

const maxID = 1 << 53 // the SDK makes ids of floats

func idToSDK(id mcp.ID) (jsonrpc.ID, error) {
	switch {
	case id == "":
		return jsonrpc.ID{}, nil
	case id[0] == '"':
		return jsonrpc.MakeID(mcp.Text(json.RawMessage(id)))
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil || n > maxID || n < -maxID {
		return jsonrpc.ID{}, fmt.Errorf("the id %.40s is neither a string nor an integer up to 2^53", id)
	}
	return jsonrpc.MakeID(float64(n))
}

func idFromSDK(id jsonrpc.ID) mcp.ID {
	switch v := id.Raw().(type) {
	case int64:
		return mcp.IntID(v)
	case string:
		return mcp.ID(mcp.Quote(v))
	}
	return ""
}
