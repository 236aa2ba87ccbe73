package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/http"
)

const conformanceTime = 25 * time.Second // less than the suite gives

// conformance is what the official conformance suite runs as the client under test. It uses the client and the
// transport as they are; all that depends on the scenario is what a user would do: which tools are called with what,
// and what is answered to a server that asks.
func (a *app) conformance() *cobra.Command {
	return &cobra.Command{
		Use: "conformance URL", Short: "Be the client that the official conformance suite tests", Hidden: true,
		Args: cobra.ExactArgs(1),
		RunE: a.run(func(ctx context.Context, args []string) error {
			ctx, cancel := context.WithTimeout(ctx, conformanceTime)
			defer cancel()
			return a.runScenario(ctx, args[0])
		}),
	}
}

// scenario is one run against the suite's server.
type scenario struct {
	name     string
	revision string // of the server
	context  struct {
		ToolCalls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	session *client.Session
	log     func(format string, args ...any)
}

func (a *app) runScenario(ctx context.Context, url string) error {
	s := &scenario{
		name: os.Getenv("MCP_CONFORMANCE_SCENARIO"), revision: os.Getenv("MCP_CONFORMANCE_PROTOCOL_VERSION"),
		log: func(format string, args ...any) { fmt.Fprintln(a.out, line(fmt.Sprintf(format, args...))) },
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &s.context); err != nil {
			return usage("MCP_CONFORMANCE_CONTEXT can't be read: "+err.Error(), "The suite sets it")
		}
	}
	t, err := http.New(http.Options{URL: url})
	if err != nil {
		return err
	}
	s.session, err = client.Connect(ctx, t, client.Options{
		Name: "conformance", Info: mcp.Implementation{Name: "usher", Version: versionText()},
		Capabilities: json.RawMessage(`{"elicitation":{}}`), OnRequest: conformanceUser{s}.Request,
	})
	if err != nil {
		return err
	}
	defer s.session.Close()
	info := s.session.Info()
	s.log("connected: %s, %s (%s)", info.Era, info.Revision, info.Why)
	if err := s.run(ctx); err != nil {
		return err
	}
	s.log("done")
	return nil
}

// conformanceCalls are the tools that a scenario wants to be called, after they were listed. A scenario that isn't here has a
// script below, or wants no more than to see the tools listed.
var conformanceCalls = map[string][]struct{ tool, arguments string }{
	"tools_call":                          {{"add_numbers", `{"a":5,"b":3}`}},
	"elicitation-sep1034-client-defaults": {{"test_client_elicitation_defaults", `{}`}},
	"sse-retry":                           {{"test_reconnection", `{}`}},
	"sep-2322-client-request-state": {
		{"test_mrtr_echo_state", `{}`}, {"test_mrtr_no_state", `{}`}, {"test_mrtr_unrelated", `{}`}, {"test_mrtr_no_result_type", `{}`},
	},
}

func (s *scenario) run(ctx context.Context) error {
	tools, err := s.session.Tools(ctx)
	if err != nil {
		return err
	}
	s.log("%d tools, %d dropped", len(tools), len(s.session.Dropped()))
	for _, c := range conformanceCalls[s.name] {
		if err := s.call(ctx, c.tool, json.RawMessage(c.arguments)); err != nil {
			return err
		}
	}
	for _, c := range s.context.ToolCalls {
		if err := s.call(ctx, c.Name, c.Arguments); err != nil {
			return err
		}
	}
	switch s.name {
	case "http-standard-headers":
		return s.useFirstOfEach(ctx, tools)
	case "http-invalid-tool-headers":
		for _, t := range tools {
			if err := s.call(ctx, t.Name, json.RawMessage(`{"region":"us-west1"}`)); err != nil {
				return err
			}
		}
	case "json-schema-2020-12-preservation":
		return s.echoSchema(ctx, tools)
	}
	return nil
}

// useFirstOfEach calls the first tool, reads the first resource and gets the first prompt.
func (s *scenario) useFirstOfEach(ctx context.Context, tools []mcp.Tool) error {
	if len(tools) > 0 {
		if err := s.call(ctx, tools[0].Name, json.RawMessage(`{}`)); err != nil {
			return err
		}
	}
	for _, u := range []struct{ list, items, key, use string }{
		{mcp.MethodListResources, "resources", "uri", mcp.MethodReadResource},
		{mcp.MethodListPrompts, "prompts", "name", mcp.MethodGetPrompt},
	} {
		result, err := s.ask(ctx, u.list, `{}`)
		if err != nil {
			return err
		}
		for item := range mcp.Elements(mcp.Member(result, u.items)) {
			if _, err := s.ask(ctx, u.use, `{"`+u.key+`":`+string(mcp.Member(item, u.key))+`}`); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// echoSchema sends a schema back as it came.
func (s *scenario) echoSchema(ctx context.Context, tools []mcp.Tool) error {
	for _, t := range tools {
		if t.Name == "json_schema_2020_12_tool" {
			schema := mcp.Member(t.Raw, "inputSchema")
			return s.call(ctx, "json_schema_echo", json.RawMessage(`{"schema":`+string(schema)+`}`))
		}
	}
	return &failure{fault.ExitTool, "the server doesn't offer json_schema_2020_12_tool", ""}
}

func (s *scenario) call(ctx context.Context, tool string, arguments json.RawMessage) error {
	params := `{"name":` + string(mcp.Quote(tool)) + `,"arguments":` + string(arguments) + `}`
	_, err := s.ask(ctx, mcp.MethodCallTool, params)
	return err
}

// ask sends a request and returns its result.
func (s *scenario) ask(ctx context.Context, method, params string) (json.RawMessage, error) {
	m, err := s.session.Handle(ctx, mcp.Request("1", method, json.RawMessage(params)), conformanceUser{s})
	if err != nil {
		return nil, err
	}
	if m.Error != nil {
		return nil, fmt.Errorf("%s %s: %w", method, params, m.Err())
	}
	s.log("%s %s: %s", method, params, m.Result)
	return m.Result, nil
}

// conformanceUser answers what a server asks a person.
type conformanceUser struct{ s *scenario }

var _ mcp.Peer = conformanceUser{}

func (conformanceUser) Notify(context.Context, *mcp.Message) {}

// Request accepts a form: with its defaults, and confirmed where that is asked.
func (u conformanceUser) Request(_ context.Context, m *mcp.Message) (*mcp.Message, error) {
	u.s.log("asked: %s %s", m.Method, m.Params)
	if m.Method != mcp.MethodElicit {
		return mcp.ErrorAnswer(m.ID, mcp.CodeMethodNotFound, "nobody is here to answer "+m.Method, nil), nil
	}
	schema, content := mcp.Member(m.Params, "requestedSchema"), json.RawMessage(`{}`)
	if mcp.Path(schema, "properties", "confirmed") != nil {
		content = json.RawMessage(`{"confirmed":true}`)
	}
	return mcp.Answer(m.ID, json.RawMessage(`{"action":"accept","content":`+string(mcp.FillDefaults(schema, content))+`}`)), nil
}
