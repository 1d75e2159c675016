/* SPDX-License-Identifier: MIT */
/* large.js: work for tests/bench/large: workers, the thread pool, JSON. large.js SIZE */
const crypto = require('crypto'), zlib = require('zlib'), fs = require('fs');
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const SIZE = Number(process.argv[2] || workerData || 1);
if (!isMainThread) {
	let s = 0;
	for (let i = 0; i < 3e7 * SIZE; i++) s = (s * 31 + i) | 0;
	parentPort.postMessage(s);
} else {
	const jobs = [];
	for (let i = 0; i < 2; i++) jobs.push(new Promise(r => new Worker(__filename, { workerData: SIZE }).on('message', r)));
	for (let i = 0; i < 8 * SIZE; i++) jobs.push(new Promise(r => crypto.pbkdf2('a', 's' + i, 60000, 32, 'sha256', (e, k) => r(k.toString('hex')))));
	const big = Buffer.alloc(4 << 20, 'the quick brown fox ');
	for (let i = 0; i < 4; i++) jobs.push(new Promise(r => zlib.gzip(big, (e, z) => r(z.length))));
	const o = []; for (let i = 0; i < 300000; i++) o.push({ i, s: 'n' + i, a: [i, i + 1] });
	const t = JSON.stringify(o); const m = new Map(JSON.parse(t).map(x => [x.s, x]));
	jobs.push(Promise.resolve(m.size));
	Promise.all(jobs).then(r => console.log(crypto.createHash('sha256').update(r.join()).digest('hex')));
}
