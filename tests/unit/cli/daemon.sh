#!/bin/sh
# SPDX-License-Identifier: MIT
# daemon.sh: how fredctl starts, finds and ends fredd. Prints TAP.
#
#   daemon.sh FREDCTL FREDD
set -u
here=$(dirname "$(realpath "$0")")
fredctl=$(realpath "$1")
fredd=$(realpath "$2")
scratch=$(mktemp -d)
FRED_HOME=$scratch/home
export FRED_HOME
trap 'timeout 20 "$fredctl" shutdown >/dev/null 2>&1; rm -rf "$scratch"' EXIT
. "$here/check.sh"

run() {
	timeout 30 "$fredctl" "$@"
}

# A method that needs the daemon and fails fast: the recording is damaged (2), or, without privileges,
# there is no cell to look at it (77).
poke() {
	run replay --until end "$scratch/rec"
	case $? in 2 | 77) return 0 ;; esac
	return 1
}

# field NAME: a number of `status --json`.
field() {
	run status --json | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"
}

not_running() {
	run status --json | grep -q '"running":false'
}

starts_on_demand() {
	poke && [ "$(field pid)" -gt 0 ]
}

stays() {
	pid=$(field pid)
	poke && [ "$(field pid)" = "$pid" ]
}

modes() {
	[ "$(stat -c %a "$FRED_HOME")" = 700 ] && [ "$(stat -c %a "$FRED_HOME/fredd.sock")" = 600 ]
}

second_daemon_is_refused() {
	timeout 30 "$fredd" --foreground --ready-fd 9 9>"$scratch/ready"
	[ $? -eq 77 ] && grep -q 'another fredd runs' "$scratch/ready"
}

survives_kill() {
	old=$(field pid)
	kill -9 "$old"
	[ -S "$FRED_HOME/fredd.sock" ] && poke && [ "$(field pid)" != "$old" ]
}

ends() {
	run shutdown && not_running && [ ! -e "$FRED_HOME/fredd.sock" ]
}

# Ten clients find no daemon, at once: all are served, by one.
many_start_one() {
	: >"$FRED_HOME/fredd.log"
	pids=
	for i in 1 2 3 4 5 6 7 8 9 10; do
		poke &
		pids="$pids $!"
	done
	bad=0
	for p in $pids; do
		wait "$p" || bad=1
	done
	[ $bad -eq 0 ] && [ "$(grep -c 'listens in' "$FRED_HOME/fredd.log")" -eq 1 ]
}

file_in_place_of_socket() {
	run shutdown && echo x >"$FRED_HOME/fredd.sock" && poke && [ -S "$FRED_HOME/fredd.sock" ]
}

long_home() {
	(
		FRED_HOME=$scratch/$(printf '%0120d' 0)
		poke && [ "$(field pid)" -gt 0 ] && run shutdown && not_running
	)
}

others_can_write() {
	(
		FRED_HOME=$scratch/open
		mkdir -m 777 "$FRED_HOME" && chmod 777 "$FRED_HOME"
		run status
		[ $? -eq 77 ]
	)
}

# Another build of fredd is replaced when it is idle: here by touching the file it was made from.
replaced_by_new_build() {
	mkdir -p "$scratch/b/cli" "$scratch/b/daemon"
	cp "$fredctl" "$scratch/b/cli/" && cp "$fredd" "$scratch/b/daemon/"
	fredctl=$scratch/b/cli/fredctl
	poke && old=$(field pid) && cp "$fredd" "$scratch/b/daemon/new" &&
		mv "$scratch/b/daemon/new" "$scratch/b/daemon/fredd" && poke &&
		[ "$(field pid)" != "$old" ]
}

mkdir "$scratch/rec"
echo '{}' >"$scratch/rec/meta.json"
check "status without a daemon" not_running
check "a command starts it" starts_on_demand
check "it stays" stays
check "modes of folder and socket" modes
check "a second one is refused" second_daemon_is_refused
check "a stale socket is replaced" survives_kill
check "shutdown ends it" ends
check "many clients start one" many_start_one
check "a file in the place of the socket" file_in_place_of_socket
check "a home whose path is too long for a socket" long_home
check "a home that others can write to" others_can_write
check "a new build replaces it" replaced_by_new_build
echo "1..$count"
exit $failed
