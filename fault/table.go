package fault

import "net/http"

// Language of the texts that an agent reads.
type Language string

// The languages. Any other value counts as English.
const (
	English Language = "en"
	Chinese Language = "zh"
)

// Exit codes of the terminal. 0 is success; 1 a tool's own failure (isError); 2 wrong usage of the command line.
const (
	ExitTool        = 1
	ExitUsage       = 2
	ExitConfig      = 3
	ExitDenied      = 4
	ExitUnavailable = 5
	ExitTimeout     = 6
	ExitLog         = 7
	ExitInternal    = 70
)

type row struct {
	family string // the kind field of mcp.call.failed
	code   int    // JSON-RPC
	status int    // HTTP
	exit   int
	en, zh string
}

// JSON-RPC codes of our own lie outside -32768…-32000, as MCP asks.
const (
	codeUnavailable = -31001
	codeTimeout     = -31002
	codeDenied      = -31003
	codeLog         = -31004
	codeInternal    = -32603
	codeParams      = -32602
)

func (k Kind) row() row {
	switch k {
	case Unavailable:
		return row{"NetworkError", codeUnavailable, http.StatusBadGateway, ExitUnavailable,
			"{tool} is not available now: server {server} can't be reached: {detail}", "工具 {tool} 当前不可用：Server {server} 无法连接：{detail}"}
	case Restarted:
		return row{"NetworkError", codeUnavailable, http.StatusBadGateway, ExitUnavailable,
			"{tool} failed: server {server} died while it had the call; the call may have run and was not sent again: {detail}", "工具 {tool} 失败：Server {server} 在执行中退出，该调用可能已执行，未重发：{detail}"}
	case Unstable:
		return row{"NetworkError", codeUnavailable, http.StatusBadGateway, ExitUnavailable,
			"{tool} failed: server {server} died again while it had the call; the call may have run and was not sent again: {detail}", "工具 {tool} 失败：Server {server} 再次在执行中退出，该调用可能已执行，未重发：{detail}"}
	case BreakerOpen:
		return row{"NetworkError", codeUnavailable, http.StatusServiceUnavailable, ExitUnavailable,
			"{tool} is disabled for a while: server {server} failed several times of late{retry}: {detail}", "工具 {tool} 暂时被禁用：Server {server} 近期多次失败{retry}：{detail}"}
	case Timeout:
		return row{"NetworkError", codeTimeout, http.StatusGatewayTimeout, ExitTimeout,
			"{tool} is not available now: server {server} did not answer in time: {detail}", "工具 {tool} 当前不可用：Server {server} 未响应：{detail}"}
	case Cancelled:
		return row{"NetworkError", codeInternal, 499, ExitTimeout,
			"{tool} was cancelled: {detail}", "工具 {tool} 已取消：{detail}"}
	case PermissionDenied:
		return row{"ToolError", codeDenied, http.StatusForbidden, ExitDenied,
			"{tool} was not run: permission denied: {detail}", "工具 {tool} 未执行：权限被拒绝：{detail}"}
	case ApprovalRequired:
		return row{"ToolError", codeDenied, http.StatusForbidden, ExitDenied,
			"{tool} was not run: approval required: {detail}", "工具 {tool} 未执行：需要批准：{detail}"}
	case NotFound:
		return row{"ToolError", codeParams, http.StatusNotFound, ExitUsage,
			"no tool {tool}: {detail}", "工具 {tool} 不存在：请检查工具名称和 Server 配置：{detail}"}
	case InvalidParams:
		return row{"ToolError", codeParams, http.StatusBadRequest, ExitUsage,
			"{tool}: wrong arguments: {detail}", "工具 {tool} 参数错误：{detail}"}
	}
	return k.serverRow()
}

func (k Kind) serverRow() row {
	switch k {
	case LogUnavailable:
		return row{"ToolError", codeLog, http.StatusServiceUnavailable, ExitLog,
			"{tool} was not run: the event log can't be written: {detail}", "工具 {tool} 未执行：事件日志无法写入：{detail}"}
	case Auth:
		return row{"AuthError", codeUnavailable, http.StatusBadGateway, ExitUnavailable,
			"{tool} failed: server {server} refuses our credentials and must be connected anew: {detail}", "工具 {tool} 认证失败：Server {server} 拒绝了凭证，请重新连接 MCP Server：{detail}"}
	case ResourceNotFound:
		return row{"ResourceError", codeParams, http.StatusNotFound, ExitUsage,
			"{tool} failed: server {server} has no such resource: {detail}", "工具 {tool} 失败：Server {server} 没有该资源：{detail}"}
	case Stale:
		return row{"ResourceError", codeUnavailable, http.StatusBadGateway, ExitUnavailable,
			"{tool} returned a stale result: server {server} can't give the latest data now, this is the copy from before: {detail}",
			"工具 {tool} 返回了过期缓存结果：Server {server} 暂时无法提供最新数据，以下为旧内容，正在重新获取最新数据：{detail}"}
	case ServerError:
		return row{"ToolError", codeInternal, http.StatusBadGateway, ExitTool,
			"{tool} failed: {detail}", "工具 {tool} 失败：{detail}"}
	case SessionExpired:
		return row{"NetworkError", codeUnavailable, http.StatusBadGateway, ExitUnavailable,
			"{tool} failed: server {server} ended the session; call again: {detail}", "工具 {tool} 失败：Server {server} 会话已过期，请重试：{detail}"}
	case Protocol:
		return row{"ToolError", codeInternal, http.StatusBadGateway, ExitUnavailable,
			"{tool} failed: server {server} broke the protocol: {detail}", "工具 {tool} 失败：Server {server} 违反协议：{detail}"}
	case TooLarge:
		return row{"ToolError", codeInternal, http.StatusBadGateway, ExitUnavailable,
			"{tool} failed: the answer of server {server} is too large: {detail}", "工具 {tool} 失败：Server {server} 的结果过大：{detail}"}
	}
	return row{"ToolError", codeInternal, http.StatusInternalServerError, ExitInternal,
		"{tool} failed: {detail}", "工具 {tool} 失败：{detail}"}
}

func (k Kind) text(l Language) string {
	if l == Chinese {
		return k.row().zh
	}
	return k.row().en
}

// Family is the kind field of mcp.call.failed: NetworkError, AuthError, ToolError or ResourceError.
func (k Kind) Family() string { return k.row().family }

// Code is the JSON-RPC error code toward a client.
func (k Kind) Code() int { return k.row().code }

// Status is the HTTP status where one is needed.
func (k Kind) Status() int { return k.row().status }

// Exit is the exit code of the terminal.
func (k Kind) Exit() int { return k.row().exit }
