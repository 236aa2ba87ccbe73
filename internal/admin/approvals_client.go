package admin

import (
	"context"
	"net/http"
	"net/url"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/usher-mcp/usher/permission"
)

// Approvals returns the questions that wait for an answer, the oldest first, without their arguments.
func (c *Client) Approvals(ctx context.Context) ([]Approval, error) {
	ctx, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	var list Approvals
	err := c.do(ctx, http.MethodGet, pathApprovals, nil, &list)
	return list.Approvals, err
}

// Approval returns one question, with its arguments while it is open.
func (c *Client) Approval(ctx context.Context, id string) (Approval, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*glance) // there may be 16 MiB to carry
	defer cancel()
	var one Approval
	err := c.do(ctx, http.MethodGet, pathApprovals+"/"+url.PathEscape(id), nil, &one)
	return one, err
}

// Decide answers a question. It is refused (fault.PermissionDenied) where this process was started by usher or by one
// of its clients.
func (c *Client) Decide(ctx context.Context, id string, allow bool, scope permission.Scope) error {
	ctx, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	body, err := jsonv2.Marshal(verdict{Allow: &allow, Scope: scope.String()})
	if err != nil {
		return err
	}
	return c.do(ctx, http.MethodPost, pathApprovals+"/"+url.PathEscape(id), body, nil)
}
