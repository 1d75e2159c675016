// SPDX-License-Identifier: MIT
// vscode_client.js: the extension of VS Code in node (vscode_double.js), with real recordings.
// node vscode_client.js EXTENSION FREDCTL CASE FOLDER TIMEOUT_MS
'use strict';
const assert = require('assert');
const fs = require('fs');
const path = require('path');
const {make} = require('./vscode_double.js');
const [extension, fredctl, name, folder, timeout] = process.argv.slice(2);
const {DebugClient} = require(path.join(extension, 'node_modules/@vscode/debugadapter-testsupport'));

const program = path.join(folder, 'turns'), source = program + '.c';
const lineOf = mark => fs.readFileSync(source, 'utf8').split('\n').findIndex(l => l.includes(mark)) + 1;
const settings = {fredctl, explain: false}, answers = [];
const vs = make(DebugClient, settings, answers);
vs.timeout = +timeout;
const {activate} = require(path.join(extension, 'out/extension.js'));
activate({subscriptions: []});
const session = () => vs.api.debug.activeDebugSession;

// Runs a command of the extension's; it must not have shown an error.
async function done(command, ...args) {
	await vs.execute(command, ...args);
	assert.deepStrictEqual(vs.errors, [], command);
}

async function frames() {
	return (await session().client.stackTraceRequest({threadId: 1})).body.stackFrames;
}

// Where the program stands: the innermost frame of the source file
async function here() {
	const f = (await frames()).find(one => one.source?.path === source);
	return [f.name, f.line];
}

// A command that moves the program, up to the stop behind it
async function moves(command, ...args) {
	const stop = session().client.waitForEvent('stopped');
	await done(command, ...args);
	return (await stop).body;
}

async function move(request) {
	const c = session().client, stop = c.waitForEvent('stopped');
	await c[request]({threadId: 1});
	return (await stop).body;
}

function leaves(label) {
	return vs.tree.getChildren().find(p => p.label === label).children;
}

function changed(until) {
	return new Promise(ready => {
		const look = () => until() && (listener.dispose(), ready());
		const listener = vs.tree.onDidChangeTreeData(look);
		look();
	});
}

async function locals(frame) {
	const c = session().client, scopes = (await c.scopesRequest({frameId: frame.id})).body.scopes;
	const ref = scopes[0].variablesReference;
	return [ref, (await c.variablesRequest({variablesReference: ref})).body.variables];
}

async function failure() {
	await done('fred.debugLastFailure');
	assert.strictEqual(session().configuration.position, 'end');
}

function select(text) {
	vs.api.window.activeTextEditor = {selection: {}, document: {getText: () => text}};
}

const cases = {
	// 1: record a program, and debug the failure
	async record() {
		answers.push(`${program} "3 4"`);
		await done('fred.record');
		assert.match(vs.bars[0], /turns-\d+: died of signal 6/);
		assert.strictEqual(session().first.body.reason, 'entry');
		assert.deepStrictEqual(await here(), ['main', lineOf('the failure')]);
		const all = await frames(), argv = all.find(f => f.name === 'main');
		// what VS Code shows first: not libc's frames, whose source is not there
		assert.strictEqual(all.find(f => f.presentationHint !== 'subtle'), argv);
		const value = await session().client.evaluateRequest({expression: 'argv[1]', frameId: argv.id});
		assert.match(value.body.result, /"3 4"/);
		await vs.end();
		await failure();
		assert.deepStrictEqual(await here(), ['main', lineOf('the failure')]);
		const recording = (await session().customRequest('fred/position')).recording;
		await vs.end();
		const count = fs.readdirSync(path.dirname(recording)).length;
		assert.strictEqual(await vs.api.debug.startDebugging(undefined, {
			type: 'fred', request: 'launch', name: 'x', program, record: true, args: [], position: 'end', stopOnEntry: true}), true);
		assert.strictEqual(fs.readdirSync(path.dirname(recording)).length, count + 1);
		assert.notStrictEqual((await session().customRequest('fred/position')).recording, recording);
		await vs.end();
	},

	// 2: steps back
	async steps_back() {
		await failure();
		const c = session().client;
		await c.setBreakpointsRequest({source: {path: source}, breakpoints: [{line: lineOf('it turns')}]});
		await move('reverseContinueRequest');
		assert.deepStrictEqual(await here(), ['spend', lineOf('it turns')]);
		await move('stepBackRequest');
		assert.deepStrictEqual(await here(), ['spend', lineOf('before it')]);
		await vs.end();
	},

	// 3: where a variable, and a selected expression, turned
	async finds() {
		await failure();
		select('balance >= 0');
		let stop = await moves('fred.findSelection');
		assert.strictEqual(stop.reason, 'goto');
		assert.deepStrictEqual(await here(), ['spend', lineOf('it turns')]);
		await moves('fred.goto', 'end');
		select('purse.last');
		await moves('fred.findSelection');
		assert.deepStrictEqual(await here(), ['spend', lineOf('before it')]);
		assert.match(vs.bars[vs.bars.length - 1], /0 before, 1 after/);
		// a local variable of an outer frame, which has the name of one of the inner frame
		await moves('fred.goto', 'end');
		const main = (await frames()).find(f => f.name === 'main'), [ref, list] = await locals(main);
		assert(list.some(v => v.name === 'sum' && v.value === '7'), JSON.stringify(list));
		await moves('fred.findVariable', {container: {variablesReference: ref}, variable: {name: 'sum'}});
		assert.deepStrictEqual(await here(), ['main', lineOf('sum turns')]);
		// what cannot be
		select('nosuch > 3');
		await vs.execute('fred.findSelection');
		assert.match(vs.errors.pop(), /nosuch/);
		select('balance < 1000000');
		await vs.execute('fred.findSelection');
		assert.match(vs.errors.pop(), /the same at both ends/);
		await vs.execute('fred.findVariable', {});
		assert.match(vs.errors.pop(), /a variable/);
		await vs.end();
	},

	// An outer frame's name, in an expression, is not the inner frame's.
	async frames() {
		await failure();
		const c = session().client;
		await c.setBreakpointsRequest({source: {path: source}, breakpoints: [{line: lineOf('before it'), condition: 'amount == 60'}]});
		await move('reverseContinueRequest');
		const all = await frames(), main = all.find(f => f.name === 'main');
		vs.api.debug.activeStackItem = {frameId: main.id};
		select('amount < 2'); // main's is 2 here, that of spend is 60
		await moves('fred.findSelection');
		assert.deepStrictEqual(await here(), ['main', lineOf('amount turns')]);
		vs.api.debug.activeStackItem = undefined;
		await vs.end();
	},

	// 4: the tree
	async tree() {
		settings.explain = true;
		await failure();
		await changed(() => leaves('Findings').length);
		const steps = leaves('Findings'), cause = steps[steps.length - 1];
		assert.match(cause.description, new RegExp(`turns.c:${lineOf('it turns')}`));
		await moves(cause.command.command, ...cause.command.arguments);
		assert.deepStrictEqual(await here(), ['spend', lineOf('it turns')]);
		answers.push('cause');
		await done('fred.bookmark');
		await done('fred.checkpoint');
		for (const end of ['Start of the recording', 'End of the recording']) {
			const leaf = vs.tree.getChildren().find(p => p.label === end);
			await moves(leaf.command.command, ...leaf.command.arguments);
		}
		assert.deepStrictEqual(await here(), ['main', lineOf('the failure')]);
		for (const label of ['Bookmarks', 'Checkpoints']) {
			const [leaf] = leaves(label);
			await moves(leaf.command.command, ...leaf.command.arguments);
			assert.deepStrictEqual(await here(), ['spend', lineOf('it turns')]);
			await moves('fred.goto', 'end');
		}
		await vs.execute('fred.goto', 'nowhere');
		assert.match(vs.errors.pop(), /not known/);
		await vs.end();
		assert.deepStrictEqual(leaves('Findings'), []);
	},

	// What check finds, in the tree
	async checks() {
		const stale = path.join(folder, 'stale'), text = fs.readFileSync(stale + '.c', 'utf8').split('\n');
		const line = mark => text.findIndex(l => l.includes(mark)) + 1;
		const goes = async place => {
			await moves(place.command.command, ...place.command.arguments);
			const [f] = (await frames()).filter(one => one.source?.path === stale + '.c');
			return f.line;
		};
		await vs.api.debug.startDebugging(undefined, {type: 'fred', request: 'launch', name: 'x', program: stale, position: 'end', stopOnEntry: true});
		await done('fred.checkMemory');
		const [error] = leaves('Memory errors');
		assert.match(error.label, /^read of 4 bytes at byte 4 of a block of 8 bytes that was freed/);
		assert.strictEqual(error.description, `stale.c:${line('after it')}`);
		assert.strictEqual(await goes(error), line('after it'));
		assert.strictEqual(await goes(error.children.find(p => p.label === 'freed')), line('its free'));
		await done('fred.checkRaces');
		assert.match(vs.tree.getChildren().find(p => p.label === 'Data races').description, /^none/);
		await vs.end();
		assert(!vs.tree.getChildren().some(p => p.label === 'Data races'));
	},

	// 5: reports
	async report() {
		await failure();
		await done('fred.report');
		const [panel] = vs.panels;
		assert.match(panel.webview.html, /Content-Security-Policy/);
		assert.match(panel.webview.html, /balance = balance - amount/);
		await vs.end();
		const file = path.join(folder, 'hunt.html');
		fs.writeFileSync(file, '<html><body>a hunt</body></html>');
		await done('fred.openReport', {fsPath: file});
		assert.match(vs.panels[1].webview.html, /default-src 'none'.*a hunt/);
		assert.strictEqual(vs.panels[1].title, 'hunt.html');
	},

	// Pure functions, and a fredctl that is not there
	async small_parts() {
		const {splitWords, latest, failed} = require(path.join(extension, 'out/fredctl.js'));
		assert.deepStrictEqual(splitWords(` a "b c" 'd\\' e\\ f ''`), ['a', 'b c', 'd\\', 'e f', '']);
		assert.throws(() => splitWords('a "b'), /not closed/);
		assert.strictEqual(latest([]), undefined);
		assert.strictEqual(latest([{created: '2'}, {created: '3'}, {created: '1'}]).created, '3');
		assert.deepStrictEqual([{signal: 6}, {code: 1}, {code: 0}, null].map(exit => failed({exit})), [true, true, false, false]);
		const {isObject} = require(path.join(extension, 'out/expression.js'));
		for (const text of ['x', 'a.b->c', 'a[i]', '*p', 'ns::x', 'v[i + 1].n'])
			assert(isObject(text), text);
		for (const text of ['x > 3', '!x', 'f(x)', 'a == b', 'true', 'a && b', 'p != 0', '7'])
			assert(!isObject(text), text);
		settings.fredctl = '/nosuch/fredctl';
		await vs.execute('fred.debugLastFailure');
		assert.match(vs.errors.pop(), /nosuch/);
		await vs.execute('fred.goto', 'end');
		assert.match(vs.errors.pop(), /no recording is being debugged/);
		const manifest = require(path.join(extension, 'package.json'));
		assert.deepStrictEqual(manifest.contributes.commands.map(c => c.command).sort(), [...vs.commands.keys()].sort());
	},
};

cases[name]().then(() => process.exit(0), why => {
	console.error(why, vs.errors);
	process.exit(1);
});
