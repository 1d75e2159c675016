// SPDX-License-Identifier: MIT
// vscode_double.js: as much of the module `vscode` as editors/vscode uses, for node. Sessions are real: the adapter that
// the extension names is started and driven by a client of the Debug Adapter Protocol; customRequest sends requests to it.
'use strict';
const {spawn} = require('child_process');
const Module = require('module');

class EventEmitter {
	constructor() {
		this.listeners = new Set();
		this.event = listener => {
			this.listeners.add(listener);
			return {dispose: () => this.listeners.delete(listener)};
		};
	}

	fire(e) {
		for (const listener of [...this.listeners])
			listener(e);
	}
}

class TreeItem {
	constructor(label, collapsibleState) {
		Object.assign(this, {label, collapsibleState});
	}
}

class DebugAdapterExecutable {
	constructor(command, args) {
		Object.assign(this, {command, args});
	}
}

class ProcessExecution {
	constructor(process, args, options) {
		Object.assign(this, {process, args, options});
	}
}

class Task {
	constructor(definition, scope, name, source, execution) {
		Object.assign(this, {definition, scope, name, source, execution});
	}
}

// client: DebugClient of @vscode/debugadapter-testsupport; settings: of the extension; answers: what a user types, in order
function make(DebugClient, settings, answers) {
	const commands = new Map(), taskEnds = new EventEmitter(), terminated = new EventEmitter();
	const double = {factories: {}, errors: [], bars: [], panels: [], panelShown: new EventEmitter(), sessionBegun: new EventEmitter(), cancel: new EventEmitter()};

	class Session {
		constructor(configuration, client) {
			Object.assign(this, {type: configuration.type, name: configuration.name, configuration, client});
		}

		async customRequest(command, args) {
			return (await this.client.send(command, args ?? {})).body;
		}
	}

	async function startDebugging(folder, given) {
		let config = given;
		for (const provider of double.factories.configurations ?? [])
			config = config && await provider.resolveDebugConfigurationWithSubstitutedVariables(folder, config);
		if (!config)
			return false;
		const how = double.factories.adapters.createDebugAdapterDescriptor();
		const client = new DebugClient(how.command, how.args[0], config.type, {shell: false});
		client.defaultTimeout = double.timeout;
		await client.start();
		const session = new Session(config, client);
		api.debug.activeDebugSession = session;
		const tracker = double.factories.trackers.createDebugAdapterTracker(session);
		client.on('stopped', e => tracker.onDidSendMessage(e));
		await client.initializeRequest();
		const ready = client.waitForEvent('initialized'), stopped = client.waitForEvent('stopped');
		await client.send(config.request, config);
		await ready;
		await client.configurationDoneRequest();
		session.first = await stopped;
		double.sessionBegun.fire(session);
		return true;
	}

	const api = {
		EventEmitter, TreeItem, DebugAdapterExecutable, ProcessExecution, Task,
		TreeItemCollapsibleState: {None: 0, Collapsed: 1, Expanded: 2},
		ProgressLocation: {Notification: 15},
		ViewColumn: {Beside: -2},
		TaskScope: {Workspace: 2},
		Uri: {file: fsPath => ({fsPath})},
		workspace: {getConfiguration: () => ({get: (key, instead) => settings[key] ?? instead}), workspaceFolders: undefined},
		commands: {registerCommand(name, fn) {
			commands.set(name, fn);
			return {dispose() {}};
		}},
		tasks: {
			onDidEndTaskProcess: taskEnds.event,
			async executeTask(task) {
				const {process: program, args, options} = task.execution, execution = {task};
				const child = spawn(program, args, {cwd: options.cwd, stdio: 'ignore'});
				child.on('close', exitCode => taskEnds.fire({execution, exitCode}));
				return execution;
			},
		},
		window: {
			activeTextEditor: undefined,
			registerTreeDataProvider(name, provider) {
				double.tree = provider;
				return {dispose() {}};
			},
			showErrorMessage: async text => void double.errors.push(text),
			setStatusBarMessage: text => void double.bars.push(text),
			showInputBox: async () => answers.shift(),
			showOpenDialog: async () => answers.shift(),
			withProgress: (how, task) => task({report() {}}, {onCancellationRequested: how.cancellable && double.cancel.event}),
			createWebviewPanel(type, title, column, options) {
				const panel = {title, options, webview: {html: ''}};
				double.panels.push(panel);
				return panel;
			},
		},
		debug: {
			activeDebugSession: undefined, activeStackItem: undefined, startDebugging,
			registerDebugAdapterDescriptorFactory: (type, f) => (double.factories.adapters = f, {dispose() {}}),
			registerDebugAdapterTrackerFactory: (type, f) => (double.factories.trackers = f, {dispose() {}}),
			registerDebugConfigurationProvider: (type, f) => ((double.factories.configurations ??= []).push(f), {dispose() {}}),
			onDidTerminateDebugSession: terminated.event,
		},
	};

	Object.assign(double, {
		api, commands, timeout: 60000,
		execute: (name, ...args) => commands.get(name)(...args),
		async end() {
			const session = api.debug.activeDebugSession;
			await session.client.stop();
			api.debug.activeDebugSession = undefined;
			terminated.fire(session);
		},
	});
	const load = Module._load;
	Module._load = (name, ...rest) => name === 'vscode' ? api : load(name, ...rest);
	return double;
}

module.exports = {make};
