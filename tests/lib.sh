# SPDX-License-Identifier: MIT
# lib.sh: what the shell test suites share: TAP output, where fredctl is, scratch folders that go away
# unless something failed, deadlines. Source it first; call suite_begin NAME, at the end suite_end.
#
# Environment: FREDCTL (the fredctl to test), BUILD (its build folder), REPEAT (how often each case is
# repeated), KEEP=1 (keep the scratch folder), ONLY (a glob: run the cases whose name matches; if there is none, the suite fails).

set -u
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=${BUILD:-$root/build}
FREDCTL=${FREDCTL:-$BUILD/cli/fredctl}
REPEAT=${REPEAT:-1}
ONLY=${ONLY:-*}

# The system's: a version manager's "python3" is a shell script, which starts ten programs each time.
python=/usr/bin/python3
[ -x "$python" ] || python=python3
tap_count=0
tap_failed=0

tap_ok() { # NAME
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s\n' "$tap_count" "$1"
}

tap_not_ok() { # NAME, then lines of explanation
	tap_count=$((tap_count + 1))
	tap_failed=$((tap_failed + 1))
	printf 'not ok %d - %s\n' "$tap_count" "$1"
	shift
	[ $# -eq 0 ] || printf '%s\n' "$@" | sed 's/^/#   /'
}

tap_skip() { # NAME WHAT-IS-MISSING
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

tap_bail() {
	printf 'Bail out! %s\n' "$*"
	exit 1
}

# suite_begin NAME: makes $scratch and a private FRED_HOME in it, so that the suite has its own daemon.
suite_begin() {
	suite=$1
	scratch=$(mktemp -d "/tmp/fred-$suite.XXXXXX") || tap_bail "cannot make a folder in /tmp"
	export FRED_HOME=$scratch/home
	mkdir -m 0700 "$FRED_HOME"
	trap suite_cleanup EXIT
	trap 'exit 130' INT TERM
}

suite_cleanup() {
	if [ -x "$FREDCTL" ] && [ -d "$FRED_HOME" ]; then
		timeout 10 "$FREDCTL" shutdown >/dev/null 2>&1
	fi
	if [ "$tap_failed" -gt 0 ] || [ "${KEEP:-0}" = 1 ]; then
		printf '# kept: %s\n' "$scratch"
	else
		rm -rf "$scratch"
	fi
}

suite_end() {
	if [ "$tap_count" -eq 0 ] && [ "$ONLY" != '*' ]; then
		printf '1..0 # SKIP no case matches ONLY=%s\n' "$ONLY"
		exit 1
	fi
	printf '1..%d\n' "$tap_count"
	[ "$tap_failed" -eq 0 ]
	exit
}

need_fredctl() {
	[ -x "$FREDCTL" ] || tap_bail "no $FREDCTL: run scripts/setup, or set FREDCTL"
}

selected() { # NAME: is it wanted?
	# shellcheck disable=SC2254
	case $1 in
	$ONLY) return 0 ;;
	esac
	return 1
}

# deadline SECONDS COMMAND...: its status, or 124 when the time is up
deadline() {
	local seconds=$1
	shift
	timeout -k 5 "$seconds" "$@"
}

# json_get FILE KEY...: the values, one a line; a.b.0.c goes down; empty when absent
json_get() {
	"$python" - "$@" <<'PY'
import json
import sys

try:
    with open(sys.argv[1]) as f:
        top = json.load(f)
except (OSError, ValueError) as error:
    sys.exit("%s: %s" % (sys.argv[1], error))
for key in sys.argv[2:]:
    value = top
    for part in key.split("."):
        if isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict):
            value = value.get(part)
        else:
            value = None
    print("" if value is None else str(value).lower() if isinstance(value, bool) else value)
PY
}

# tail_of FILE [LINES]: its end, for explanations
tail_of() {
	[ -s "$1" ] && tail -n "${2:-8}" "$1" | cut -c1-300 | tr -cd '[:print:]\n'
}

# signal-aware text of an exit status
status_text() {
	if [ "$1" -eq 124 ]; then
		echo "timed out"
	elif [ "$1" -gt 128 ]; then
		echo "$1 (signal $(($1 - 128)))"
	else
		echo "$1"
	fi
}

# run_logged PREFIX SECONDS COMMAND...: standard output to PREFIX.out, error to PREFIX.err; its status.
# In a subshell that lives on, so that its note about a signal does not mix in.
run_logged() {
	local prefix=$1 seconds=$2
	shift 2
	(timeout -k 5 "$seconds" "$@" >"$prefix.out" 2>"$prefix.err" </dev/null
		exit $?) 2>/dev/null
}
