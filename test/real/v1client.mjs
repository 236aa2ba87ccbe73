// One visit to a server by the client of the TypeScript SDK v1:
//
//	node v1client.mjs ws|sse URL CALLS
//
// CALLS is a JSON array of {tool, args}. It initializes, lists, makes the
// calls all at once, pings, and closes; then it prints one JSON object. With
// CALLS "wait" it prints a line "up" instead, once it is initialized, and the
// object when the server has ended the connection. It must end by itself.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { WebSocketClientTransport } from "@modelcontextprotocol/sdk/client/websocket.js";

const [kind, url, calls] = process.argv.slice(2);
const report = { errors: [], answers: [] };

// The SDK's transport keeps its socket, and how that ended, to itself.
globalThis.WebSocket = class extends WebSocket {
  constructor(...args) {
    super(...args);
    this.addEventListener("close", (e) => {
      Object.assign(report, { subprotocol: this.protocol, clean: e.wasClean, code: e.code });
    });
  }
};

const Transport = { ws: WebSocketClientTransport, sse: SSEClientTransport }[kind];
const client = new Client({ name: "v1", version: "1" });
client.onerror = (e) => {
  // An answer may overtake the 202 of its own request, whose POST close() then aborts.
  if (e.name !== "AbortError") report.errors.push(String(e));
};
const closed = new Promise((resolve) => (client.onclose = resolve));
await client.connect(new Transport(new URL(url)));
report.server = client.getServerVersion()?.name;

if (calls === "wait") {
  console.log("up");
} else {
  report.tools = (await client.listTools()).tools.map((t) => t.name);
  report.answers = await Promise.all(
    JSON.parse(calls).map(({ tool, args }) =>
      client.callTool({ name: tool, arguments: args }).catch((e) => ({ error: e.code })),
    ),
  );
  await client.ping();
  await client.close();
}
await closed;
console.log(JSON.stringify(report));
