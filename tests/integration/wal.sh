# SPDX-License-Identifier: MIT
# wal.sh ROUNDS: two sqlite3 processes write one database in WAL mode, whose index both map.
set -e
sqlite3 w.db "pragma journal_mode=wal; create table t(a, b);" >/dev/null
writer() { # NUMBER
	for i in $(seq "$ROUNDS"); do
		echo "begin immediate;"
		echo "with recursive n(i) as (select 1 union all select i + 1 from n where i < 50)"
		echo "insert into t select $1, i + $i from n; commit; select count(*) > 0 from t where a = $1;"
	done | sqlite3 -cmd ".timeout 20000" w.db | sort | uniq -c
}
ROUNDS=$1
writer 1 &
one=$!
writer 2 &
wait $one
wait $!
sqlite3 w.db "select a, count(*), sum(b) from t group by a; pragma integrity_check;"
