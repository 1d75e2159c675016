# SPDX-License-Identifier: MIT
# check.sh: TAP for the shell tests of this folder, which source it when $scratch is a folder.
count=0
failed=0

# check NAME COMMAND...: one test; the command's status decides.
check() {
	name=$1
	shift
	count=$((count + 1))
	if "$@" >"$scratch/out" 2>&1; then
		echo "ok $count - $name"
	else
		failed=1
		echo "not ok $count - $name"
		sed 's/^/# /' "$scratch/out"
	fi
}
