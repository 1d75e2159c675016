#!/bin/sh
# SPDX-License-Identifier: MIT
# record.sh: what fredctl record refuses, returns and leaves. Prints TAP.
#
#   record.sh FREDCTL
set -u
here=$(dirname "$(realpath "$0")")
fredctl=$(realpath "$1")
scratch=$(mktemp -d)
FRED_HOME=$scratch/home
export FRED_HOME
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
. "$here/check.sh"

skip() {
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

record() {
	timeout 60 "$fredctl" record "$@"
}

# is STATUS COMMAND...
is() {
	want=$1
	shift
	"$@"
	got=$?
	echo "status $got, wanted $want"
	[ $got -eq "$want" ]
}

# refused TEXT ARGUMENTS...: 125, one line that begins with "fred:" and has TEXT; nothing is left behind.
refused() {
	text=$1
	shift
	rm -rf "$FRED_HOME/recordings"
	record "$@" >stdout 2>stderr
	status=$?
	cat stdout stderr
	[ $status -eq 125 ] && [ "$(wc -l <stderr)" -eq 1 ] && grep -q "^fred: .*$text" stderr &&
		[ ! -s stdout ] && [ -z "$(ls "$FRED_HOME/recordings" 2>/dev/null)" ]
}

input_and_output() {
	printf 'one\ntwo\n' | record cat >stdout 2>stderr && [ "$(cat stdout)" = "one
two" ] && [ ! -s stderr ]
}

arguments_and_directory() {
	[ "$(record -- sh -c 'echo "$#:$1:$2"; pwd' sh "a  b" --json)" = "2:a  b:--json
$scratch" ]
}

modes() {
	umask 000
	record -o modes true && [ "$(stat -c %a modes)" = 700 ] &&
		[ "$(stat -c %a modes/meta.json)" = 600 ]
}

json_object() {
	record --json sh -c 'echo text; exit 3' >stdout
	[ $? -eq 3 ] && [ "$(sed -n 1p stdout)" = text ] && sed -n 2p stdout | python3 -c '
import json, sys
v = json.load(sys.stdin)
assert v["exit"] == {"code": 3} and v["exit_code"] == 3 and v["complete"] is True, v'
}

meta() {
	record -o meta.rec -- sh -c 'kill -TERM $$' 2>/dev/null
	python3 - <<'PY'
import json
m = json.load(open("meta.rec/meta.json"))
assert m["exit"] == {"signal": 15}, m
assert m["argv"] == ["sh", "-c", "kill -TERM $$"], m
assert m["complete"] is True and m["wall_s"] > 0, m
assert "control" in [f["path"] for f in m["manifest"]], m
PY
}

# A log is cut to what is in use: its last byte is not one of those that were allocated ahead.
trimmed() {
	record -o trim true && [ "$(tail -c 1 trim/p0001/t0001.log | od -An -tu1 -v)" != "" ] &&
		[ "$(stat -c %s trim/p0001/t0001.log)" -lt 100000 ] && "$fredctl" info trim
}

# A child that goes on: its end is not waited for, the recording says so, and is finished when it has ended.
daemonised() {
	mkfifo gate
	record --json -o daemon.rec -- sh -c 'cat <gate >/dev/null & exit 4' >stdout 2>stderr
	status=$?
	echo >>gate &
	cat stdout stderr
	[ $status -eq 4 ] && grep -q '"complete":false' stdout && grep -q '^fred: .*still run' stderr &&
		timeout 30 sh -c 'until "$1" info daemon.rec | grep -q "complete *true"; do :; done' - "$fredctl"
}

killed_recorder() {
	mkfifo gate2 up
	"$fredctl" record -o killed.rec -- sh -c 'echo >up; cat <gate2 >/dev/null; echo >up' &
	timeout 30 cat up
	kill -9 $!
	wait $!
	echo >>gate2 &
	timeout 30 cat up
	"$fredctl" info killed.rec | grep -q 'complete *false'
}

full_disk() {
	mkdir full && mount -t tmpfs -o size=1m none full || return 1
	refused 'disk is full' -o full/rec -- true
	r=$?
	[ -z "$(ls full)" ] || r=1
	umount full
	return $r
}

cp "$(readlink -f /bin/sh)" plain
cp plain setuid && chmod u+s setuid
printf '#!%s/script2\n' "$scratch" >script && printf '#!/no/such/interpreter\n' >script2
printf 'echo hi\n' >text
chmod +x script script2 text
head -c 100 plain >short && chmod +x short
mkdir busy && touch busy/file

check "exit code" is 7 record -- sh -c 'exit 7'
check "signal" is 143 record -- sh -c 'kill -TERM $$'
check "input and output" input_and_output
check "arguments, working directory" arguments_and_directory
check "script" is 5 record -- sh -c 'printf "#!/bin/sh\nexit 5\n" >s5; chmod +x s5; exec ./s5'
check "modes" modes
check "--json" json_object
check "meta.json" meta
check "logs are trimmed" trimmed
check "a child that goes on" daemonised
check "a killed recorder" killed_recorder
check "no program" refused 'too few arguments'
check "unknown program" refused 'no such program' -- no-such-program
check "unknown path" refused 'No such file' -- ./no-such-program
check "a directory" refused 'Is a directory' -- ./busy
check "no execute permission" refused 'Permission denied' -- ./busy/file
check "setuid" refused 'setuid' -- ./setuid
check "neither ELF nor script" refused 'neither' -- ./text
check "missing interpreter" refused '/no/such/interpreter' -- ./script
check "a cut-off ELF file" refused 'damaged' -- ./short
check "a directory in use" refused 'not empty' -o busy -- true
check "a directory below a file" refused 'busy/file' -o busy/file/rec -- true
check "a wrong option" refused 'unknown option' --frobnicate -- true
check "a wrong mode" refused 'none of' --sched sometimes -- true
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
	check "a full disk" full_disk
else
	skip "a full disk" "needs root to mount a small file system"
fi
echo "1..$count"
exit $failed
