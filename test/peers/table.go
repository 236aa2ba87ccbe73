package main

import "slices"

// node runs a program of node_modules so that it binds 127.0.0.1 only, whatever it would by itself.
func node(name string, args ...string) []string {
	return append([]string{"node", "--import", "{real}/loopback.mjs", "{bin}/" + name}, args...)
}

func js(name string, args ...string) []string { return append([]string{"{bin}/" + name}, args...) }

func env(kv ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i+1 < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return m
}

func peers() []peer { return slices.Concat(onStdio(), onStdioSmall(), onHTTP()) }

const kubernetes = "{modules}/kubernetes-mcp-server-linux-amd64/bin/kubernetes-mcp-server-linux-amd64"

func onStdio() []peer {
	return []peer{
		{name: "everything", command: js("mcp-server-everything", "stdio"), tool: "echo", args: `{"message":"hi"}`, says: "ok: Echo: hi"},
		{name: "filesystem", command: js("mcp-server-filesystem", "{dir}"), tool: "list_allowed_directories", args: `{}`, says: "ok: Allowed"},
		{name: "memory", command: js("mcp-server-memory"), tool: "read_graph", args: `{}`, says: "ok: "},
		{name: "sequential-thinking", command: js("mcp-server-sequential-thinking"), tool: "sequentialthinking", args: `{"thought":"x","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`, says: "ok: "},
		{name: "playwright", command: js("playwright-mcp", "--headless", "--no-sandbox", "--isolated"), tool: "browser_close", args: `{}`},
		{name: "chrome-devtools", command: js("chrome-devtools-mcp", "--headless", "--isolated", "--no-usage-statistics"), tool: "list_pages", args: `{}`},
		{name: "context7", command: js("context7-mcp"), tool: "resolve-library-id", args: `{"query":"x","libraryName":"react"}`},
		{name: "dbhub", command: js("dbhub", "--transport", "stdio", "--demo"), tool: "search_objects", args: `{"object_type":"table","pattern":"employee%"}`, says: "employee"},
		{name: "mongodb", command: js("mongodb-mcp-server"), env: env("MDB_MCP_TELEMETRY", "disabled"), tool: "list-databases", args: `{}`},
		{name: "kubernetes", command: []string{kubernetes, "--kubeconfig", "{dir}/kubeconfig"}, tool: "configuration_view", args: `{}`, says: "nowhere.invalid"},
		{name: "mcp-grafana", command: []string{"{go}/grafana/mcp-grafana"}, env: env("GRAFANA_URL", "http://127.0.0.1:1", "GRAFANA_SERVICE_ACCOUNT_TOKEN", "dummy"), tool: "list_datasources", args: `{}`},
		{name: "go-sdk-everything", command: []string{"{go}/sdk/everything"}, tool: "greet", args: `{"name":"x"}`, says: "Hi x"},
		{name: "go-sdk-conformance", command: []string{"{real}/bin/everything-server"}, tool: "test_simple_text", args: `{}`, says: "simple text response"},
		{name: "mcp-go-everything", command: []string{"{go}/mcp-go/everything"}, tool: "echo", args: `{"message":"hi"}`, says: "hi"},
		{name: "azure", command: []string{"{modules}/@azure/mcp-linux-x64/dist/azmcp", "server", "start"}, env: env("AZURE_MCP_COLLECT_TELEMETRY", "false"), tool: "get_azure_bestpractices", args: `{}`, says: "ok: "},
		{name: "azure-all", command: []string{"{modules}/@azure/mcp-linux-x64/dist/azmcp", "server", "start", "--mode", "all"}, env: env("AZURE_MCP_COLLECT_TELEMETRY", "false"), tool: "azureterraformbestpractices_get", args: `{}`, says: "ok: "},
		{name: "git", command: js("git-mcp-server"), tool: "git_status", args: `{"path":"."}`, says: "working directory"},
		{name: "desktop-commander", command: js("desktop-commander", "--no-onboarding"), tool: "list_sessions", args: `{}`, says: "ok: "},
		{name: "firecrawl", command: js("firecrawl-mcp"), env: env("FIRECRAWL_API_KEY", "dummy"), tool: "firecrawl_scrape", args: `{"url":"http://127.0.0.1:1"}`},
		{name: "notion", command: js("notion-mcp-server"), env: env("NOTION_TOKEN", "dummy"), tool: "API-get-self", args: `{}`},
		{name: "tavily", command: js("tavily-mcp"), env: env("TAVILY_API_KEY", "dummy"), tool: "tavily_search", args: `{"query":"x"}`},
		{name: "antv", command: js("mcp-server-chart"), tool: "generate_pie_chart", args: `{"data":[{"category":"a","value":1}]}`},
	}
}

func onStdioSmall() []peer {
	return []peer{
		{name: "cortex", command: []string{"{modules}/@temporal-cortex/cortex-mcp-linux-x64/bin/cortex-mcp"}, tool: "resolve_datetime", args: `{"expression":"tomorrow at 2pm"}`, says: "T14:00:00"},
		{name: "leanspec", command: []string{"{modules}/@leanspec/mcp-linux-x64/leanspec-mcp"}, tool: "get_capabilities", args: `{}`, says: "ok: "},
		{name: "mcp-time", command: []string{"{modules}/mcp-time-linux-x64/bin/mcp-time"}, tool: "current_time", args: `{}`, says: "ok: 20"},
		{name: "excel", command: js("excel-mcp-server"), tool: "excel_describe_sheets", args: `{"fileAbsolutePath":"/nowhere.xlsx"}`, says: "no such file"},
		{name: "github", command: js("mcp-server-github"), tool: "search_repositories", args: `{"query":"x"}`},
		{name: "postgres", command: js("mcp-server-postgres", "postgres://127.0.0.1:1/x"), tool: "query", args: `{"sql":"select 1"}`, says: "ECONNREFUSED"},
		{name: "commands", command: js("mcp-server-commands"), tool: "run_command", args: `{"command":"echo hi"}`, says: "hi"},
		{name: "eslint", command: js("mcp"), tool: "lint-files", args: `{"filePaths":["x.js"]}`, says: "ok: "},
		{name: "time-mcp", command: js("time-mcp"), tool: "current_time", args: `{"format":"YYYY-MM-DD","timezone":"UTC"}`, says: "20"},
		{name: "hello-world", command: js("mcp-hello-world"), tool: "echo", args: `{"message":"hi"}`, says: "hi"},
		{name: "app-pdf", command: js("mcp-pdf-server", "--stdio"), tool: "list_pdfs", args: `{}`, says: "ok: "},
		{name: "app-basic-react", command: js("mcp-server-basic-react", "--stdio"), tool: "get-time", args: `{}`, says: "20"},
		{name: "app-map", command: js("mcp-map-server", "--stdio"), tool: "show-map", args: `{}`, says: "ok: "},
		{name: "app-system-monitor", command: js("mcp-system-monitor-server", "--stdio"), tool: "get-system-info", args: `{}`, says: "hostname"},
		{name: "app-video", command: js("mcp-video-resource-server", "--stdio"), tool: "play_video", args: `{}`, says: "videoUri"},
	}
}

func onHTTP() []peer {
	const mcpURL, sseURL = "http://{address}/mcp", "http://{address}/sse"
	return []peer{
		{name: "everything", url: mcpURL, command: node("mcp-server-everything", "streamableHttp"), env: env("PORT", "{port}"), tool: "echo", args: `{"message":"hi"}`, says: "ok: Echo: hi"},
		{name: "everything", url: sseURL, command: node("mcp-server-everything", "sse"), env: env("PORT", "{port}"), tool: "echo", args: `{"message":"hi"}`, says: "ok: Echo: hi"},
		{name: "playwright", url: "http://localhost:{port}/mcp", command: node("playwright-mcp", "--headless", "--isolated", "--port", "{port}"), tool: "browser_close", args: `{}`},
		{name: "playwright", url: "http://localhost:{port}/sse", command: node("playwright-mcp", "--headless", "--isolated", "--port", "{port}"), tool: "browser_close", args: `{}`},
		{name: "context7", url: mcpURL, command: node("context7-mcp", "--transport", "http", "--port", "{port}"), tool: "resolve-library-id", args: `{"query":"x","libraryName":"react"}`},
		{name: "dbhub", url: mcpURL, command: node("dbhub", "--transport", "http", "--port", "{port}", "--demo"), tool: "search_objects", args: `{"object_type":"table","pattern":"employee%"}`, says: "employee"},
		{name: "kubernetes", url: mcpURL, command: []string{kubernetes, "--bind-address", "127.0.0.1", "--port", "{port}", "--kubeconfig", "{dir}/kubeconfig"}, tool: "configuration_view", args: `{}`, says: "nowhere.invalid"},
		{name: "kubernetes-stateless", url: mcpURL, command: []string{kubernetes, "--stateless", "--bind-address", "127.0.0.1", "--port", "{port}", "--kubeconfig", "{dir}/kubeconfig"}, tool: "configuration_view", args: `{}`, says: "nowhere.invalid"},
		{name: "mcp-grafana", url: mcpURL, command: []string{"{go}/grafana/mcp-grafana", "-t", "streamable-http", "-address", "{address}"}, env: env("GRAFANA_URL", "http://127.0.0.1:1", "GRAFANA_SERVICE_ACCOUNT_TOKEN", "dummy"), tool: "list_datasources", args: `{}`},
		{name: "mcp-grafana", url: sseURL, command: []string{"{go}/grafana/mcp-grafana", "-t", "sse", "-address", "{address}"}, env: env("GRAFANA_URL", "http://127.0.0.1:1", "GRAFANA_SERVICE_ACCOUNT_TOKEN", "dummy"), tool: "list_datasources", args: `{}`},
		{name: "gopls", url: "http://{address}/sse", command: []string{"{go}/gopls/gopls", "mcp", "-listen={address}"}, tool: "go_workspace", args: `{}`, says: "ok: "},
		{name: "go-sdk-conformance", url: "http://{address}/", command: []string{"{real}/bin/everything-server", "-http", "{address}", "-stateless=false"}, tool: "test_simple_text", args: `{}`, says: "simple text response"},
		{name: "go-sdk-conformance-stateless", url: "http://{address}/", command: []string{"{real}/bin/everything-server", "-http", "{address}", "-stateless=true"}, tool: "test_simple_text", args: `{}`, says: "simple text response"},
		{name: "go-sdk-everything", url: "http://{address}/", command: []string{"{go}/sdk/everything", "-http", "{address}"}, tool: "greet", args: `{"name":"x"}`, says: "Hi x"},
		{name: "git", url: mcpURL, command: node("git-mcp-server"), env: env("MCP_TRANSPORT_TYPE", "http", "MCP_HTTP_PORT", "{port}", "MCP_HTTP_HOST", "127.0.0.1"), tool: "git_status", args: `{"path":"."}`, says: "working directory"},
		{name: "firecrawl", url: mcpURL, command: node("firecrawl-mcp"), env: env("HTTP_STREAMABLE_SERVER", "true", "PORT", "{port}", "FIRECRAWL_API_KEY", "dummy"), tool: "firecrawl_scrape", args: `{"url":"http://127.0.0.1:1"}`},
		{name: "antv", url: mcpURL, command: node("mcp-server-chart", "--transport", "streamable", "--port", "{port}"), tool: "generate_pie_chart", args: `{"data":[{"category":"a","value":1}]}`},
		{name: "antv", url: sseURL, command: node("mcp-server-chart", "--transport", "sse", "--port", "{port}"), tool: "generate_pie_chart", args: `{"data":[{"category":"a","value":1}]}`},
		{name: "mongodb", url: mcpURL, command: node("mongodb-mcp-server", "--transport", "http", "--httpPort", "{port}"), env: env("MDB_MCP_TELEMETRY", "disabled"), tool: "list-databases", args: `{}`},
	}
}
