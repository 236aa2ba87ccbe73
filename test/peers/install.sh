#!/bin/sh
# Installs the servers that only `make peers` runs, at the versions pinned here,
# into node_modules/ and bin/ beside this file. Their Node, and a few of them,
# are those of ../real, whose install.sh must have run.
#
# Needs npm 10 or newer, Go, flock, 1.5 GB, and about ten minutes the first time:
# mcp-grafana and gopls are large. A second run does nothing. Package scripts
# never run.
set -eu
cd "$(dirname "$0")"

die() { echo "test/peers/install.sh: $*" >&2; exit 1; }

install_node_modules() {
	want=$(sha256sum package-lock.json)
	stamp=node_modules/.lock-sha256
	if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ]; then return; fi
	command -v npm >/dev/null || die "npm is missing: install Node.js 20 or newer with npm"
	# Some packages disagree about their peers, which doesn't matter: each is a program of its own.
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error --legacy-peer-deps
	chmod +x node_modules/kubernetes-mcp-server-linux-amd64/bin/* node_modules/@leanspec/mcp-linux-x64/leanspec-mcp \
		node_modules/@temporal-cortex/cortex-mcp-linux-x64/bin/* node_modules/mcp-time-linux-x64/bin/* node_modules/@azure/mcp-linux-x64/dist/azmcp
	echo "$want" >"$stamp" # last: an interrupted install has no stamp
}

# install_go FOLDER PROGRAM MODULE VERSION SUM PACKAGE
install_go() {
	is_installed "$@" || GOBIN="$PWD/bin/$1" go install "$6@$4"
	is_installed "$@" || die "bin/$1/$2 is not $3 $4 $5"
}

is_installed() {
	go version -m "bin/$1/$2" 2>/dev/null | grep -q "mod[[:space:]]$3[[:space:]]$4[[:space:]]$5"
}

command -v go >/dev/null || die "go is missing: install the Go version that go.mod names"
exec 9<install.sh
flock 9
install_node_modules
install_go sdk everything github.com/modelcontextprotocol/go-sdk v1.8.0 \
	h1:KIvahhYqwtbeniWVPs3TcXEA7b8jEtwfBpOTAI+Urx4= github.com/modelcontextprotocol/go-sdk/examples/server/everything
install_go mcp-go everything github.com/mark3labs/mcp-go v1.2.1 \
	h1:gd8VD3feMAVycwAM0x1nhv42Q1oLLjfOyowoUzHULB8= github.com/mark3labs/mcp-go/examples/everything
install_go gopls gopls golang.org/x/tools/gopls v0.23.0 \
	h1:Dn6mf9WXu9iLnTftDDMb9wV0c6Se7PjzEMqP0LEe08Y= golang.org/x/tools/gopls
install_go grafana mcp-grafana github.com/grafana/mcp-grafana v1.6.3 \
	h1:Ah0KihMYqrsItUp5nrka8H5FYgAvG/nLnVr6xPmiUxY= github.com/grafana/mcp-grafana/cmd/mcp-grafana
