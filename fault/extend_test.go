package fault_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/usher-mcp/usher/fault"
)

// D6: what the agent reads, word by word. Each Chinese text holds both halves of the line that was asked for.
func TestTextsForTheAgent(t *testing.T) {
	const tool, server = "mcp.fs.x", "fs"
	for _, test := range []struct {
		e      fault.Error
		en, zh string
	}{
		{fault.Error{Kind: fault.Timeout},
			"mcp.fs.x is not available now: server fs did not answer in time", "工具 mcp.fs.x 当前不可用：Server fs 未响应"},
		{fault.Error{Kind: fault.BreakerOpen, Retry: 29*time.Second + time.Millisecond},
			"mcp.fs.x is disabled for a while: server fs failed several times of late, will retry in 30 s",
			"工具 mcp.fs.x 暂时被禁用：Server fs 近期多次失败，将在 30s 后自动重试"},
		{fault.Error{Kind: fault.BreakerOpen, Detail: "will retry in 30 s"},
			"mcp.fs.x is disabled for a while: server fs failed several times of late: will retry in 30 s",
			"工具 mcp.fs.x 暂时被禁用：Server fs 近期多次失败：will retry in 30 s"},
		{fault.Error{Kind: fault.NotFound}, "no tool mcp.fs.x", "工具 mcp.fs.x 不存在：请检查工具名称和 Server 配置"},
		{fault.Error{Kind: fault.Auth},
			"mcp.fs.x failed: server fs refuses our credentials and must be connected anew",
			"工具 mcp.fs.x 认证失败：Server fs 拒绝了凭证，请重新连接 MCP Server"},
		{fault.Error{Kind: fault.InvalidParams, Detail: "key: must be a string"},
			"mcp.fs.x: wrong arguments: key: must be a string", "工具 mcp.fs.x 参数错误：key: must be a string"},
		{fault.Error{Kind: fault.Stale},
			"mcp.fs.x returned a stale result: server fs can't give the latest data now, this is the copy from before",
			"工具 mcp.fs.x 返回了过期缓存结果：Server fs 暂时无法提供最新数据，以下为旧内容，正在重新获取最新数据"},
	} {
		e := test.e
		e.Tool, e.Server = tool, server
		if en, zh := e.Text(fault.English), e.Text(fault.Chinese); en != test.en || zh != test.zh {
			t.Errorf("%s:\n%s, want\n%s\n%s, want\n%s", e.Kind, en, test.en, zh, test.zh)
		}
	}
	stale := fault.Error{Kind: fault.Stale, Server: server}
	if got := stale.Text(fault.English); got != "server fs can't give the latest data now, this is the copy from before" {
		t.Errorf("without a tool: %s", got)
	}
}

func TestKindsAreAll(t *testing.T) {
	want := kinds(t)
	got := fault.Kinds()
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("Kinds() = %v, want %v", got, want)
	}
}

// D5: a table sorts what a server answered, and only that.
func TestSort(t *testing.T) {
	table := &fault.Table{
		Codes:    map[int]fault.Kind{-32050: fault.Auth, -32602: fault.ResourceNotFound, -32051: fault.PermissionDenied},
		Statuses: map[int]fault.Kind{423: fault.Unavailable, 401: fault.ServerError, 599: "made up"},
	}
	for _, test := range []struct {
		name           string
		e              fault.Error
		builtIn, table fault.Kind
	}{
		{"nothing known", fault.Error{Kind: fault.ServerError}, fault.ServerError, fault.ServerError},
		{"parameters", fault.Error{Kind: fault.ServerError, Code: -32602}, fault.InvalidParams, fault.ResourceNotFound},
		{"sorted before", fault.Error{Kind: fault.InvalidParams, Code: -32602}, fault.InvalidParams, fault.ResourceNotFound},
		{"method", fault.Error{Kind: fault.ServerError, Code: -32601}, fault.NotFound, fault.NotFound},
		{"resource", fault.Error{Kind: fault.ServerError, Code: -32002}, fault.ResourceNotFound, fault.ResourceNotFound},
		{"own code", fault.Error{Kind: fault.ServerError, Code: -32050}, fault.ServerError, fault.Auth},
		{"code before status", fault.Error{Kind: fault.ServerError, Code: -32050, Status: 423}, fault.ServerError, fault.Auth},
		{"another code", fault.Error{Kind: fault.ServerError, Code: 7, Status: 423}, fault.ServerError, fault.Unavailable},
		{"no right to", fault.Error{Kind: fault.ServerError, Code: -32051}, fault.ServerError, fault.ServerError},
		{"status", fault.Error{Kind: fault.ServerError, Status: 423}, fault.ServerError, fault.Unavailable},
		{"no such kind", fault.Error{Kind: fault.ServerError, Status: 599}, fault.ServerError, fault.ServerError},
		{"credentials", fault.Error{Kind: fault.ServerError, Status: 401}, fault.Auth, fault.ServerError},
		{"proxy's time-out", fault.Error{Kind: fault.ServerError, Status: 504}, fault.Timeout, fault.Timeout},
		{"slow request", fault.Error{Kind: fault.ServerError, Status: 408}, fault.ServerError, fault.ServerError}, // it was not run
		{"unavailable", fault.Error{Kind: fault.ServerError, Status: 503}, fault.ServerError, fault.ServerError},
		{"cancelled", fault.Error{Kind: fault.Cancelled, Code: -32050, Status: 423}, fault.Cancelled, fault.Cancelled},
		{"denied", fault.Error{Kind: fault.PermissionDenied, Code: -32050}, fault.PermissionDenied, fault.PermissionDenied},
		{"crashed", fault.Error{Kind: fault.Restarted, Status: 423}, fault.Restarted, fault.Restarted},
	} {
		before := test.e
		for _, c := range []struct {
			t    *fault.Table
			want fault.Kind
		}{{nil, test.builtIn}, {&fault.Table{}, test.builtIn}, {table, test.table}} {
			got := c.t.Sort(&test.e)
			if got.Kind != c.want || test.e != before {
				t.Errorf("%s: %s, want %s; the argument is %+v", test.name, got.Kind, c.want, test.e)
			}
			if got.Kind == test.e.Kind && got != &test.e {
				t.Errorf("%s: copied without need", test.name)
			}
		}
	}
}

// D6: texts of the user's, with what is known put in; what isn't good falls back to ours.
func TestTableText(t *testing.T) {
	table := &fault.Table{Texts: map[fault.Kind]map[fault.Language]string{
		fault.Timeout:     {fault.English: "{tool} hangs ({server}): {detail}", fault.Chinese: "{tool} 超时"},
		fault.BreakerOpen: {fault.English: "{server} rests{retry}"},
		fault.Auth:        {fault.English: "log in again"},
	}}
	full := fault.Error{Kind: fault.Timeout, Tool: "t", Server: "{detail}", Detail: "{tool}", Hint: "Wait"}
	for _, test := range []struct {
		name string
		t    *fault.Table
		e    fault.Error
		l    fault.Language
		want string
	}{
		{"own", table, full, fault.English, "t hangs ({detail}): {tool}. Wait"},
		{"other language", table, full, "fr", "t hangs ({detail}): {tool}. Wait"},
		{"Chinese", table, full, fault.Chinese, "t 超时. Wait"},
		{"nothing known", table, fault.Error{Kind: fault.Timeout}, fault.English, "the call hangs (the server)"},
		{"no Chinese", table, fault.Error{Kind: fault.BreakerOpen, Server: "s"}, fault.Chinese, "Server s 近期多次失败"},
		{"retry", table, fault.Error{Kind: fault.BreakerOpen, Server: "s", Retry: time.Second}, fault.English, "s rests, will retry in 1 s"},
		{"says nothing", table, fault.Error{Kind: fault.Auth, Server: "s"}, fault.English, "server s refuses our credentials and must be connected anew"},
		{"nil", nil, fault.Error{Kind: fault.Internal, Tool: "t"}, fault.English, "t failed"},
	} {
		if got := test.t.Text(&test.e, test.l); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			table.Text(&full, fault.Chinese)
			table.Sort(&full)
		})
	}
	wg.Wait()
}

// D6: the built-in texts are such as a user may write.
func TestBuiltInTextsPassTheCheck(t *testing.T) {
	for _, k := range fault.Kinds() {
		e := &fault.Error{Kind: k, Tool: "{tool}", Server: "{server}", Detail: "{detail}", Retry: time.Second}
		for _, l := range []fault.Language{fault.English, fault.Chinese} {
			if why := fault.CheckText(e.Text(l)); why != "" {
				t.Errorf("%s: %s: %s", k, e.Text(l), why)
			}
		}
	}
}

func TestCheckText(t *testing.T) {
	for text, want := range map[string]string{
		"{tool}": "", "x {server}: {detail}{retry}": "", "} {tool}": "",
		"":                                     "doesn't say what failed",
		"{detail}":                             "doesn't say what failed",
		"{tol}":                                "is tool, server, detail and retry",
		"{tool":                                "is tool, server, detail and retry",
		"{tool} {":                             "is tool, server, detail and retry",
		"{{tool}}":                             "is tool, server, detail and retry",
		"{tool}\x1b[2J":                        "control characters",
		"{tool}\xff":                           "control characters",
		"{tool}" + strings.Repeat(" x", 1<<10): "1024",
	} {
		if got := fault.CheckText(text); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestParseKind(t *testing.T) {
	for s, want := range map[string]fault.Kind{"auth": fault.Auth, "AuthError": fault.Auth, "NetworkError": fault.Unavailable,
		"ToolError": fault.ServerError, "ResourceError": fault.ResourceNotFound, "breaker_open": fault.BreakerOpen} {
		if k, ok := fault.ParseKind(s); !ok || k != want {
			t.Errorf("%s: %s %v", s, k, ok)
		}
	}
	for _, s := range []string{"", "Auth", "unheard of"} {
		if k, ok := fault.ParseKind(s); ok {
			t.Errorf("%s: %s", s, k)
		}
	}
	for _, name := range fault.AssignableNames() {
		if k, ok := fault.ParseKind(name); !ok || !k.Assignable() {
			t.Errorf("%s: %s %v", name, k, ok)
		}
	}
}
