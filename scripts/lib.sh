# SPDX-License-Identifier: MIT
# lib.sh: what the scripts share. Source it; it sets $root, goes there, and defines the functions below.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# Progress goes to standard error: standard output is for results.
say() {
	printf '%s\n' "$*" >&2
}

die() {
	printf 'fred: %s\n' "$*" >&2
	exit 1
}

have() {
	command -v "$1" >/dev/null 2>&1
}

# as_root COMMAND...: directly, or by sudo
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif have sudo; then
		sudo -n "$@" || die "this needs root: $*"
	else
		die "this needs root: $*"
	fi
}

# logged FILE COMMAND...: output to FILE; when it fails, shows the end of it
logged() {
	local log=$1
	shift
	("$@") >"$log" 2>&1 && return
	tail -n 25 "$log" >&2
	die "failed: $* (all of its output: $log)"
}

# jobs_count: for make and ninja
jobs_count() {
	nproc 2>/dev/null || echo 2
}
