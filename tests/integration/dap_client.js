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
	assert(!can.supportsWriteMemoryRequest && !can.supportsGotoTargetsRequest, JSON.stringify(can));
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

	// One of fred's commands, which GDB waits for
	async interrupted_way() {
		const c = await begin({program, stopOnEntry: true});
		await stop(c, () => c.configurationDoneRequest());
		let answer;
		const stopped = c.waitForEvent('stopped');
		const way = c.send('fred/goto', {position: 'end'}).then(() => answer = 'it went there', why => answer = why.message);
		// GDB says `running` before it is: a user would try again
		while (!answer) {
			await c.pauseRequest({threadId: 1});
			await Promise.race([way, new Promise(later => setTimeout(later, 300))]);
		}
		assert.notStrictEqual(answer, 'it went there');
		assert.strictEqual((await stopped).body.reason, 'pause');
		await c.stop();
	},

	// An interrupt of a program that stands is not kept for its next move.
	async pause_at_a_stop() {
		const c = await begin({program}, [{line: +line}]);
		let s = await stop(c, () => c.configurationDoneRequest());
		const threadId = s.threadId;
		await c.pauseRequest({threadId});
		s = await stop(c, () => c.continueRequest({threadId}));
		assert.deepStrictEqual([s.reason, (await locals(c, s.frame)).x.value], ['breakpoint', '2']);
		await c.stop();
	},

	async hits() {
		const c = await begin({program}, [{line: +line, hitCondition: '2'}]);
		let s = await stop(c, () => c.configurationDoneRequest());
		const threadId = s.threadId, x = async () => (await locals(c, s.frame)).x.value;
		assert.strictEqual(await x(), '2');
		const set = async more => (await c.setBreakpointsRequest({source, breakpoints: [{line: +line, ...more}]})).body.breakpoints[0];
		assert.strictEqual((await set({hitCondition: '> 1'})).verified, true);
		s = await stop(c, () => c.continueRequest({threadId}));
		assert.strictEqual(await x(), '4');
		for (const hitCondition of ['% 2', '== 3', 'x', '-1', '2 x']) {
			const refused = await set({hitCondition});
			assert.deepStrictEqual([refused.verified, /a hit count is N/.test(refused.message)], [false, true], hitCondition);
		}
		assert.match((await set({condition: 'nosuch > 1'})).message, /nosuch/);
		assert.strictEqual((await set({condition: 'x > 1', hitCondition: '>= 2'})).verified, true);
		s = await stop(c, () => c.reverseContinueRequest({threadId}));
		assert.strictEqual(await x(), '2'); // the hits are those with x 3 and 2
		await set({hitCondition: '% 2'}); // refused
		const data = async more => (await c.send('setDataBreakpoints', {breakpoints: [{dataId: 'total', ...more}]})).body.breakpoints[0];
		assert.match((await data({hitCondition: '% 2'})).message, /a hit count is N/);
		assert.strictEqual((await data({condition: 'total > 2', hitCondition: '2'})).verified, true);
		s = await stop(c, () => c.continueRequest({threadId}));
		assert.strictEqual(s.description, '6 -> 12');
		await c.stop();
	},

	async data() {
		const c = await begin({program}, [{line: +line}]);
		let s = await stop(c, () => c.configurationDoneRequest());
		const threadId = s.threadId, ask = async (command, args) => (await c.send(command, args)).body;
		const scopes = (await c.scopesRequest({frameId: s.frames[1].id})).body.scopes;
		const i = await ask('dataBreakpointInfo', {variablesReference: scopes[0].variablesReference, name: 'i'});
		const total = await ask('dataBreakpointInfo', {name: 'total', frameId: s.frame.id});
		assert.deepStrictEqual(total.accessTypes, ['write', 'read', 'readWrite']);
		assert.strictEqual((await ask('dataBreakpointInfo', {name: 'total + 1', frameId: s.frame.id})).dataId, null);
		await c.setBreakpointsRequest({source, breakpoints: []});
		const set = await ask('setDataBreakpoints', {breakpoints: [
			{dataId: i.dataId, accessType: 'write'}, {dataId: total.dataId, condition: 'total == 6'}, {dataId: 'nosuch'}]});
		assert.deepStrictEqual(set.breakpoints.map(b => b.verified), [true, true, false]);
		assert.match(set.breakpoints[2].message, /nosuch/);
		// the variable of a frame that is not the innermost one, at its own address
		s = await stop(c, () => c.continueRequest({threadId}));
		assert.deepStrictEqual([s.reason, s.frame.name, s.description], ['data breakpoint', 'main', '1 -> 2']);
		assert.deepStrictEqual(s.hitBreakpointIds, [set.breakpoints[0].id]);
		s = await stop(c, () => c.continueRequest({threadId}));
		assert.deepStrictEqual([s.frame.name, s.description], ['twice', '2 -> 6']);
		s = await stop(c, () => c.reverseContinueRequest({threadId}));
		assert.deepStrictEqual([s.frame.name, s.description], ['main', '2 -> 1']); // backwards total is 2 then
		// also a read
		await ask('setDataBreakpoints', {breakpoints: [{dataId: total.dataId, accessType: 'readWrite'}]});
		s = await stop(c, () => c.continueRequest({threadId}));
		assert.strictEqual(s.reason, 'data breakpoint');
		await c.stop();
	},

	async memory() {
		const c = await begin({program}, [{line: +line}]);
		const s = await stop(c, () => c.configurationDoneRequest());
		const ask = async (command, args) => (await c.send(command, args)).body;
		const bytes = await ask('readMemory', {memoryReference: '&point', offset: 4, count: 4});
		assert.deepStrictEqual([...Buffer.from(bytes.data, 'base64')], [8, 0, 0, 0]);
		for (const count of [5, 6]) {
			const some = await ask('readMemory', {memoryReference: '&point', count});
			assert.deepStrictEqual([...Buffer.from(some.data, 'base64')], [7, 0, 0, 0, 8, 0].slice(0, count));
		}
		const none = await ask('readMemory', {memoryReference: '0x10', count: 4});
		assert.deepStrictEqual([none.address, none.unreadableBytes, none.data], ['0x10', 4, undefined]);
		await assert.rejects(c.send('readMemory', {memoryReference: 'nosuch', count: 4}), /nosuch/);
		await assert.rejects(c.send('writeMemory', {memoryReference: '&point', data: 'AA=='}), /cannot be changed/);
		const memoryReference = s.frame.instructionPointerReference;
		const at = BigInt(memoryReference);
		const code = (await ask('disassemble', {memoryReference, instructionOffset: -2, instructionCount: 5})).instructions;
		assert.strictEqual(code.length, 5);
		assert.strictEqual(BigInt(code[2].address), at);
		assert.match(code[2].symbol, /^twice\+/);
		for (let k = 0; k < 4; k++)
			assert.strictEqual(BigInt(code[k].address) + BigInt(code[k].instructionBytes.split(' ').length), BigInt(code[k + 1].address));
		const next = (await ask('disassemble', {memoryReference, instructionOffset: 1, instructionCount: 2})).instructions;
		assert.deepStrictEqual(next, code.slice(3));
		const nowhere = (await ask('disassemble', {memoryReference: '0x0', instructionCount: 2})).instructions;
		assert.deepStrictEqual(nowhere.map(o => o.presentationHint), ['invalid', 'invalid']);
		await c.setBreakpointsRequest({source, breakpoints: []});
		await ask('setInstructionBreakpoints', {breakpoints: [{instructionReference: code[3].address}]});
		const there = await stop(c, () => c.continueRequest({threadId: s.threadId}));
		assert.strictEqual(BigInt(there.frame.instructionPointerReference), BigInt(code[3].address));
		await c.stop();
	},

	// In a copy, until the program moves.
	async sets() {
		const c = await begin({program}, [{line: +line}]);
		let s = await stop(c, () => c.configurationDoneRequest());
		const ref = async () => (await c.scopesRequest({frameId: s.frame.id})).body.scopes[0].variablesReference;
		const value = async expression => (await c.evaluateRequest({expression, frameId: s.frame.id})).body.result;
		const set = await c.send('setVariable', {variablesReference: await ref(), name: 'x', value: '40 + 1'});
		assert.strictEqual(set.body.value, '41');
		assert.strictEqual(await value('x * 2'), '82');
		await c.send('setExpression', {expression: 'point.b', value: '9', frameId: s.frame.id});
		assert.strictEqual(await value('point.b'), '9');
		await assert.rejects(c.send('setVariable', {variablesReference: await ref(), name: 'x', value: 'nosuch'}), /nosuch/);
		await assert.rejects(c.send('setVariable', {variablesReference: 999, name: 'x', value: '1'}), /no longer exists/);
		s = await stop(c, () => c.continueRequest({threadId: s.threadId}));
		assert.deepStrictEqual([await value('x'), await value('point.b'), await value('total')], ['2', '8', '2']);
		const complete = async text => (await c.send('completions', {text, column: text.length + 1})).body.targets
			.filter(t => t.label === 'point' || t.label === 'reverse-watch').map(t => [t.label, t.start, t.length]);
		assert.deepStrictEqual(await complete('1 + poi'), [['point', 4, 3]]);
		assert.deepStrictEqual(await complete('reverse-wa'), [['reverse-watch', 0, 10]]);
		await c.stop();
	},

	async exceptions() {
		const c = await begin({program});
		await c.send('setExceptionBreakpoints', {filters: ['throw', 'catch', 'signals']});
		let s = await stop(c, () => c.configurationDoneRequest());
		const threadId = s.threadId, info = async () => (await c.send('exceptionInfo', {threadId})).body.exceptionId;
		assert.deepStrictEqual([s.reason, await info()], ['exception', 'C++ exception thrown']);
		s = await stop(c, () => c.continueRequest({threadId}));
		assert.deepStrictEqual([s.reason, await info()], ['exception', 'C++ exception caught']);
		s = await stop(c, () => c.continueRequest({threadId}));
		assert.deepStrictEqual([s.reason, await info()], ['exception', 'SIGSEGV']);
		s = await stop(c, () => c.reverseContinueRequest({threadId}));
		assert.strictEqual(await info(), 'C++ exception caught');
		// the signal alone; then nothing
		await c.send('setExceptionBreakpoints', {filters: ['signals']});
		s = await stop(c, () => c.continueRequest({threadId}));
		assert.strictEqual(await info(), 'SIGSEGV');
		await c.send('setExceptionBreakpoints', {filters: []});
		await stop(c, () => c.send('fred/goto', {position: 'start'}));
		s = await stop(c, () => c.continueRequest({threadId}));
		assert.strictEqual(s.description, 'The recording ends here');
		await assert.rejects(c.send('exceptionInfo', {threadId}), /not caused by an exception/);
		await c.stop();
	},

	// fred's own: positions, and ways to them
	async history() {
		const c = await begin({program}, [{line: +line}]);
		let s = await stop(c, () => c.configurationDoneRequest());
		const ask = async (command, args) => (await c.send(command, args)).body;
		const first = await ask('fred/position');
		assert.match(first.position, /^\d+\/0x[0-9a-f]+#1$/);
		assert.strictEqual(path.basename(first.recording).replace(/-\d+$/, ''), path.basename(program));
		assert.deepStrictEqual(await ask('fred/bookmark', {name: 'here'}), {name: 'here', position: first.position});
		assert.deepStrictEqual(await ask('fred/checkpoint'), {name: '1', position: first.position});
		await assert.rejects(c.send('fred/bookmark', {name: 'two words'}), /one word/);
		assert.deepStrictEqual(await ask('fred/checkpoints'), {
			bookmarks: [{name: 'here', position: first.position}], checkpoints: [{name: '1', position: first.position}]});
		s = await stop(c, () => ask('fred/goto', {position: 'end'}));
		assert.strictEqual(s.reason, 'goto');
		const frameId = s.frame.id, end = (await ask('fred/position')).event;
		assert(end > first.event && end <= first.events, String(end));
		let found;
		s = await stop(c, async () => found = await ask('fred/reverseWatch', {expression: 'total < 12', frameId}));
		assert.deepStrictEqual([s.reason, s.frame.name, s.frame.line], ['goto', 'twice', +line + 1]);
		assert.deepStrictEqual([found.position, (await locals(c, s.frame)).x.value], [(await ask('fred/position')).position, '3']);
		// what cannot be leaves it there, and is told
		const there = (await ask('fred/position')).position;
		for (const [command, args, why] of [
			['fred/goto', {position: 'nowhere'}, /not known/], ['fred/goto', {}, /missing/],
			['fred/goto', {position: 'end\nshell true'}, /more than one line/],
			['fred/reverseWatch', {expression: 'nosuch < 3'}, /nosuch/], ['fred/reverseWatch', {expression: 'total <'}, /./]]) {
			await assert.rejects(c.send(command, args), why);
			assert.strictEqual((await ask('fred/position')).position, there);
		}
		s = await stop(c, () => ask('fred/goto', {position: first.position}));
		assert.strictEqual((await locals(c, s.frame)).x.value, '1');
		const cause = await ask('fred/explain', {recording: first.recording});
		assert.strictEqual(cause.found, false);
		await assert.rejects(c.send('fred/explain', {recording: '/nosuch'}), /nosuch/);
		const checked = await ask('fred/check', {recording: first.recording, what: 'memory'});
		assert.ok(Array.isArray(checked.findings) && typeof checked.clean === 'boolean', JSON.stringify(checked));
		await assert.rejects(c.send('fred/check', {recording: first.recording, what: 'colours'}), /memory or races/);
		await c.stop();
	},

	// As far as it has come
	async in_the_making() {
		const c = new DebugClient(fredctl, 'dap', 'fred', {shell: false});
		await c.start();
		await c.initializeRequest();
		const ready = c.waitForEvent('initialized');
		await c.attachRequest({program, position: 'end', stopOnEntry: true});
		await ready;
		const s = await stop(c, () => c.configurationDoneRequest());
		assert.strictEqual((await c.evaluateRequest({expression: 'total', frameId: s.frame.id})).body.result, '30');
		await c.stop();
	},

	async refused() {
		const c = new DebugClient(fredctl, 'dap', 'fred', {shell: false});
		await c.start();
		await c.initializeRequest();
		await assert.rejects(c.threadsRequest(), /no program/);
		await assert.rejects(c.launchRequest({program: program + '.no'}), /no recording of|no such recording/);
		await assert.rejects(c.send('nonsense'), /not supported/);
		await assert.rejects(c.launchRequest({program, live: true}), /live: .*fredctl debug/);
		await c.stop();
	},
};

cases[name]().then(() => process.exit(0), why => {
	console.error(why);
	process.exit(1);
});
