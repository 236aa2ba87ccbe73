package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
)

// offline edits the configuration, and nothing else.
type offline struct{ path string }

var _ editor = offline{}

func (o offline) SetDisabled(_ context.Context, name string, disabled bool) error {
	_, err := config.SetDisabled(o.path, name, disabled)
	return notEdited(err)
}

func (o offline) AddServer(_ context.Context, name string, entry json.RawMessage) error {
	return notEdited(config.AddServer(o.path, name, entry))
}

func (o offline) RemoveServer(_ context.Context, name string) error {
	return notEdited(config.RemoveServer(o.path, name))
}

// notEdited tells what a person may have got wrong from a file that can't be read or written.
func notEdited(err error) error {
	_, isProblem := errors.AsType[*config.Problem](err)
	_, isPath := errors.AsType[*fs.PathError](err)
	if err == nil || isProblem || isPath {
		return err
	}
	return &fault.Error{Kind: fault.InvalidParams, Detail: err.Error(), Hint: "Nothing was changed."}
}
