// SPDX-License-Identifier: MIT
// dap_client.js: sessions with `fredctl dap`, by the client that adapters of VS Code are tested with.
// node dap_client.js MODULES FREDCTL CASE PROGRAM LINE
'use strict';
const assert = require('assert');
const path = require('path');
const [modules, fredctl, name, program, line] = process.argv.slice(2);
const {DebugClient} = require(path.join(modules, '@vscode/debugadapter-testsupport'));

const source = {path: program + '.c'};

async function begin(launch, breakpoints, functions) {
	const c = new DebugClient(fredctl, 'dap', 'fred', {shell: false});
	c.defaultTimeout = 20000;
	await c.start();
	const can = (await c.initializeRequest()).body;
	assert(can.supportsStepBack, 'no steps back');
	const ready = c.waitForEvent('initialized');
	await c.launchRequest(launch);
	await ready;
	if (breakpoints) {
		const set = await c.setBreakpointsRequest({source, breakpoints});
		assert(set.body.breakpoints.every(b => b.verified), JSON.stringify(set.body));
	}
	if (functions)
		await c.setFunctionBreakpointsRequest({breakpoints: functions});
	return c;
}

async function stop(c, doing) {
	const event = c.waitForEvent('stopped');
	await doing();
	const body = (await event).body;
	const frames = (await c.stackTraceRequest({threadId: body.threadId})).body.stackFrames;
	return {...body, frame: frames[0], frames};
}

async function locals(c, frame) {
	const scopes = (await c.scopesRequest({frameId: frame.id})).body.scopes;
	const list = (await c.variablesRequest({variablesReference: scopes[0].variablesReference})).body.variables;
	return Object.fromEntries(list.map(v => [v.name, v]));
}

const cases = {
	async steps_back() {
		const c = await begin({program}, [{line: +line}]);
		let s = await stop(c, () => c.configurationDoneRequest());
		assert.deepStrictEqual([s.reason, s.frame.name, s.frame.line], ['breakpoint', 'twice', +line]);
		assert.strictEqual(s.frame.source.path, source.path);
		assert.strictEqual((await locals(c, s.frame)).x.value, '1');
		const threadId = s.threadId;
		s = await stop(c, () => c.continueRequest({threadId}));
		assert.strictEqual((await locals(c, s.frame)).x.value, '2');
		s = await stop(c, () => c.nextRequest({threadId}));
		assert.deepStrictEqual([s.reason, s.frame.line], ['step', +line + 1]);
		s = await stop(c, () => c.stepBackRequest({threadId}));
		assert.strictEqual(s.frame.line, +line);
		s = await stop(c, () => c.reverseContinueRequest({threadId}));
		assert.strictEqual((await locals(c, s.frame)).x.value, '1');
		s = await stop(c, () => c.stepOutRequest({threadId}));
		assert.strictEqual(s.frame.name, 'main');
		s = await stop(c, () => c.stepBackRequest({threadId}));
		s = await stop(c, () => c.reverseContinueRequest({threadId}));
		assert.strictEqual(s.description, 'The recording begins here');
		await c.setBreakpointsRequest({source, breakpoints: []});
		s = await stop(c, () => c.continueRequest({threadId}));
		assert.strictEqual(s.description, 'The recording ends here');
		s = await stop(c, () => c.stepBackRequest({threadId, granularity: 'instruction'}));
		assert.strictEqual(s.reason, 'step');
		await c.stop();
	},

	async values() {
		const c = await begin({program, stopOnEntry: true}, null, [{name: 'twice', condition: 'x == 4'}]);
		let s = await stop(c, () => c.configurationDoneRequest());
		assert.deepStrictEqual([s.reason, s.frame.name], ['entry', 'main']);
		s = await stop(c, () => c.continueRequest({threadId: s.threadId}));
		const frameId = s.frame.id;
		const value = async (expression, context) =>
			(await c.evaluateRequest({expression, frameId, context})).body;
		assert.strictEqual((await value('x * 10 + total', 'watch')).result, '52');
		const outer = (await c.evaluateRequest({expression: 'i', frameId: s.frames[1].id})).body;
		assert.strictEqual(outer.result, '4');
		const point = await value('point', 'hover');
		assert(point.variablesReference > 0, JSON.stringify(point));
		const members = (await c.variablesRequest({variablesReference: point.variablesReference})).body.variables;
		assert.deepStrictEqual(members.map(v => [v.name, v.value]), [['a', '7'], ['b', '8']]);
		await assert.rejects(c.evaluateRequest({expression: 'nosuch', frameId, context: 'watch'}), /nosuch/);
		const said = c.waitForEvent('output');
		await value('when', 'repl');
		assert.match((await said).body.output, /event \d+ of \d+/);
		s = await stop(c, () => value('reverse-finish', 'repl'));
		assert.strictEqual(s.frame.name, 'main');
		const threads = (await c.threadsRequest()).body.threads;
		assert.strictEqual(threads.length, 1);
		const set = await c.setBreakpointsRequest({source, breakpoints: [{line: 100000}]});
		assert.strictEqual(set.body.breakpoints[0].verified, false);
		s = await stop(c, () => c.restartRequest({}));
		assert.strictEqual(s.frame.name, 'twice');
		await c.stop();
	},

	async threads() {
		const c = await begin({program}, null, [{name: 'work'}]);
		const alive = async () => (await c.threadsRequest()).body.threads.map(t => t.id);
		let s = await stop(c, () => c.configurationDoneRequest());
		for (const id of [2, 3]) {
			assert.strictEqual(s.threadId, id);
			assert.deepStrictEqual(await alive(), [1, id]);
			s = await stop(c, () => c.continueRequest({threadId: id}));
		}
		s = await stop(c, () => c.reverseContinueRequest({threadId: 1}));
		assert.strictEqual(s.threadId, 3);
		s = await stop(c, () => c.reverseContinueRequest({threadId: 3}));
		assert.strictEqual(s.threadId, 2);
		await c.stop();
	},

	async edited() {
		const c = await begin({program}, [{line: +line}]);
		const s = await stop(c, () => c.configurationDoneRequest());
		assert.deepStrictEqual([s.reason, s.frame.name, s.frame.line], ['breakpoint', 'twice', +line]);
		assert.notStrictEqual(s.frame.source.path, source.path);
		const shown = require('fs').readFileSync(s.frame.source.path, 'utf8').split('\n');
		assert.match(shown[line - 1], /twice: first/);
		await c.stop();
	},

	async interrupted() {
		const c = await begin({program});
		const running = c.configurationDoneRequest();
		await running;
		const s = await stop(c, () => c.pauseRequest({threadId: 1}));
		assert.strictEqual(s.reason, 'pause');
		assert.strictEqual(s.description, 'Interrupt');
		await c.stop();
	},

	async refused() {
		const c = new DebugClient(fredctl, 'dap', 'fred', {shell: false});
		await c.start();
		await c.initializeRequest();
		await assert.rejects(c.threadsRequest(), /no program/);
		await assert.rejects(c.launchRequest({program: program + '.no'}), /no recording of|no such recording/);
		await assert.rejects(c.send('nonsense'), /not supported/);
		await c.stop();
	},
};

cases[name]().then(() => process.exit(0), why => {
	console.error(why);
	process.exit(1);
});
