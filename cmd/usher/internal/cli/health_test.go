package cli

import (
	"slices"
	"testing"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/secret"
)

// B1: what a failing server says it misses.
func TestMissingVariables(t *testing.T) {
	c := config.Server{Transport: config.TransportStdio, Env: map[string]secret.Value{"GIVEN_TOKEN": "x"}}
	for _, c2 := range []struct {
		said string
		want []string
	}{
		{"Error: JIRA_TOKEN is not set", []string{"JIRA_TOKEN"}},
		{"please set SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables", []string{"SLACK_BOT_TOKEN", "SLACK_TEAM_ID"}},
		{"KeyError: 'API_KEY'\nexit status 1", []string{"API_KEY"}},
		{"GIVEN_TOKEN is missing", nil},
		{"Error [ERR_MODULE_NOT_FOUND]: Cannot find package, code: 'MODULE_NOT_FOUND' is required", nil},
		{"listening on MAX_RETRIES of something", nil},
		{"connect ECONNREFUSED", nil},
	} {
		if got := missing(c, c2.said); !slices.Equal(got, c2.want) {
			t.Errorf("%q: %v, want %v", c2.said, got, c2.want)
		}
	}
}
