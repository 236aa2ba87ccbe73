#!/bin/sh
# Installs the agents by others whose configurations the tests connect, at the
# versions pinned here, into node_modules/ beside this file: 750 MB, most of it
# two programs. They run with the node that test/real/install.sh installs.
#
# Needs npm 10 or newer and flock. A second run does nothing; runs at the same
# time wait for each other. Package scripts never run.
set -eu
cd "$(dirname "$0")"

die() { echo "test/connect/install.sh: $*" >&2; exit 1; }

exec 9<install.sh
flock 9
want=$(sha256sum package-lock.json)
stamp=node_modules/.lock-sha256
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ]; then exit 0; fi
command -v npm >/dev/null || die "npm is missing: install Node.js 20 or newer with npm"
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
chmod +x node_modules/opencode-linux-x64-baseline/bin/opencode
echo "$want" >"$stamp" # last: an interrupted install has no stamp
