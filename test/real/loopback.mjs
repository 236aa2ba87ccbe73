// Preload for a Node server that has no option for its address:
//
//	PORT=0 node --import ./loopback.mjs node_modules/.bin/mcp-server-everything streamableHttp
//
// Every TCP listen(port) binds 127.0.0.1 only and says on stderr, in one line
// "loopback: listening on 127.0.0.1:PORT", which port it got, so that a test
// can ask for port 0 and need not guess a free one.
import { Server } from "node:net";

const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...rest) {
  // Calls with an options object or a path are not bare listen(port): leave them.
  if (!/^\d+$/.test(String(port)) || typeof rest[0] === "string") {
    return listen.call(this, port, ...rest);
  }
  this.once("listening", () => {
    const a = this.address();
    process.stderr.write(`loopback: listening on ${a.address}:${a.port}\n`);
  });
  return listen.call(this, Number(port), "127.0.0.1", ...rest);
};
