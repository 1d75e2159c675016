// SPDX-License-Identifier: MIT
// extension.ts: the commands. The debug adapter is `fredctl dap`; its requests fred/... are in docs/editors.md.
import * as fs from 'fs';
import * as path from 'path';
import * as vscode from 'vscode';
import { isObject } from './expression';
import { Check, describeExit, Explanation, failed, latest, Recording, recordings, splitWords } from './fredctl';
import { Lists, Places } from './places';
import * as report from './report';

interface Position { event: number; events: number; position: string; recording: string | null }

const places = new Places();

function fredctl(): string {
	return vscode.workspace.getConfiguration('fred').get<string>('fredctl') || 'fredctl';
}

function session(): vscode.DebugSession {
	const s = vscode.debug.activeDebugSession;
	if (!s || s.type !== 'fred')
		throw new Error('no recording is being debugged');
	return s;
}

// ---- the tree ----

async function refresh(s: vscode.DebugSession): Promise<void> {
	try {
		const lists: Lists = await s.customRequest('fred/checkpoints');
		if (vscode.debug.activeDebugSession === s)
			places.setLists(lists);
	} catch {
		// the session has ended, or the program is running: it stops again
	}
}

async function explain(s: vscode.DebugSession): Promise<void> {
	const here: Position = await s.customRequest('fred/position');
	const process: number = s.configuration.process ?? 0;
	places.setFindings(undefined, 'looking for the cause ...', process || 1);
	try {
		const found: Explanation = await s.customRequest('fred/explain',
			{ recording: here.recording, ...(process ? { process } : {}) });
		places.setFindings(found, '', process || 1);
	} catch (why) {
		places.setFindings(undefined, (why as Error).message, process || 1);
	}
}

// what: as fredctl check calls it; group: as the tree does
async function check(what: 'memory' | 'races', group: string): Promise<void> {
	const s = session(), here: Position = await s.customRequest('fred/position');
	const process: number = s.configuration.process ?? 0;
	const show = (found: Check | undefined, text: string) => {
		if (vscode.debug.activeDebugSession === s)
			places.setCheck(group, found, text, process || found?.process || 1);
	};
	show(undefined, 'looking ...');
	try {
		show(await s.customRequest('fred/check', { recording: here.recording, what, ...(process ? { process } : {}) }), '');
	} catch (why) {
		show(undefined, (why as Error).message);
	}
}

// At each stop the lists may be others; the first one begins the search for the cause.
class Tracker implements vscode.DebugAdapterTracker {
	private stopped = false;

	constructor(private readonly s: vscode.DebugSession) {}

	onDidSendMessage(message: { type: string; event?: string }): void {
		if (message.type !== 'event' || message.event !== 'stopped')
			return;
		void refresh(this.s);
		if (!this.stopped && vscode.workspace.getConfiguration('fred').get<boolean>('explain', true))
			void explain(this.s).catch(() => undefined);
		this.stopped = true;
	}
}

// ---- recording ----

// Until the program has ended; in a terminal, as it may ask its user.
async function record(argv: string[], cwd?: string): Promise<number | undefined> {
	const execution = new vscode.ProcessExecution(fredctl(), ['record', '--', ...argv], cwd ? { cwd } : {});
	const task = new vscode.Task({ type: 'fred' }, vscode.TaskScope.Workspace, `record ${argv[0]}`, 'fred', execution);
	let running: vscode.TaskExecution | undefined;
	const ends: vscode.TaskProcessEndEvent[] = [];
	return new Promise((done, refused) => {
		const look = () => {
			const mine = ends.find(e => e.execution === running);
			if (!mine)
				return;
			listener.dispose();
			done(mine.exitCode);
		};
		const listener = vscode.tasks.onDidEndTaskProcess(e => {
			ends.push(e);
			look();
		});
		vscode.tasks.executeTask(task).then(r => {
			running = r;
			look();
		}, why => {
			listener.dispose();
			refused(why);
		});
	});
}

// The recordings that were not there before
async function recorded(argv: string[], cwd?: string): Promise<Recording> {
	const before = new Set((await recordings(fredctl())).map(r => r.recording));
	const status = await record(argv, cwd);
	const made = latest((await recordings(fredctl())).filter(r => !before.has(r.recording)));
	if (!made)
		throw new Error(`nothing was recorded: fredctl record ended with exit status ${status ?? '?'}`);
	return made;
}

async function debug(r: Recording): Promise<void> {
	await vscode.debug.startDebugging(vscode.workspace.workspaceFolders?.[0],
		{ type: 'fred', request: 'launch', name: `fred: ${r.name}`, recording: r.recording, position: 'end', stopOnEntry: true });
}

async function recordAndDebug(): Promise<void> {
	const line = await vscode.window.showInputBox({ title: 'Record a program', prompt: 'The program and its arguments' });
	const argv = line ? splitWords(line) : [];
	if (!argv.length)
		return;
	const made = await recorded(argv, vscode.workspace.workspaceFolders?.[0]?.uri.fsPath);
	vscode.window.setStatusBarMessage(`fred: ${made.name}: ${describeExit(made.exit)}`, 10000);
	await debug(made);
}

async function debugLastFailure(): Promise<void> {
	const last = latest((await recordings(fredctl())).filter(failed));
	if (!last)
		throw new Error('no recording of a program that failed (fredctl ls lists all)');
	await debug(last);
}

// ---- searches, and ways ----

function place(text: string): string {
	return text.trim().split('\n').join('; ');
}

async function find(args: object, what: string): Promise<void> {
	const s = session();
	const found = await vscode.window.withProgress(
		{ location: vscode.ProgressLocation.Notification, title: `fred: looking for where ${what} turned`, cancellable: true },
		(_progress, token) => {
			token.onCancellationRequested(() => s.customRequest('pause', { threadId: 1 }));
			return s.customRequest('fred/reverseWatch', args);
		});
	if (found.text)
		vscode.window.setStatusBarMessage(`fred: ${place(found.text)}`, 30000);
}

// What VS Code hands a command of the menu debug/variables/context
interface VariableContext { container?: { variablesReference?: number }; variable?: { name?: string } }

async function findVariable(context?: VariableContext): Promise<void> {
	const name = context?.variable?.name, variablesReference = context?.container?.variablesReference;
	if (!name || !variablesReference)
		throw new Error('a variable of a debug view is needed');
	await find({ variablesReference, name }, name);
}

async function findSelection(): Promise<void> {
	const editor = vscode.window.activeTextEditor;
	const expression = editor ? editor.document.getText(editor.selection).replace(/\s+/g, ' ').trim() : '';
	if (!expression)
		throw new Error('an expression is to be selected in the editor');
	const item = vscode.debug.activeStackItem;
	const frameId = item && 'frameId' in item ? item.frameId : undefined;
	await find({ expression, value: isObject(expression), ...(frameId === undefined ? {} : { frameId }) }, expression);
}

async function goTo(given?: string): Promise<void> {
	const s = session();
	const position = given ?? await vscode.window.showInputBox({
		title: 'Go to a position', prompt: 'start, end, an event\'s number, N%, or what `when` says' });
	if (position)
		await s.customRequest('fred/goto', { position });
}

async function bookmark(): Promise<void> {
	const s = session();
	const name = await vscode.window.showInputBox({ title: 'Bookmark', prompt: 'A name; empty: a number' });
	if (name === undefined)
		return;
	await s.customRequest('fred/bookmark', name ? { name } : {});
	await refresh(s);
}

async function checkpoint(): Promise<void> {
	const s = session();
	await s.customRequest('fred/checkpoint');
	await refresh(s);
}

// ---- reports ----

async function showReport(): Promise<void> {
	const s = vscode.debug.activeDebugSession;
	const here: Position | undefined = s?.type === 'fred' ? await s.customRequest('fred/position') : undefined;
	const recording = here?.recording ?? latest(await recordings(fredctl()))?.recording;
	if (!recording)
		throw new Error('there is no recording');
	await vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title: 'fred: making the report' },
		() => report.ofRecording(fredctl(), recording));
}

async function openReport(given?: vscode.Uri): Promise<void> {
	const file = given ?? (await vscode.window.showOpenDialog({ filters: { HTML: ['html'] }, title: 'A report of fredctl bisect' }))?.[0];
	if (file)
		report.show(path.basename(file.fsPath), await fs.promises.readFile(file.fsPath, 'utf8'));
}

// ---- what VS Code asks ----

class Configurations implements vscode.DebugConfigurationProvider {
	// Without a launch.json, F5 debugs the latest recording.
	async resolveDebugConfigurationWithSubstitutedVariables(
		_folder: vscode.WorkspaceFolder | undefined, config: vscode.DebugConfiguration): Promise<vscode.DebugConfiguration | undefined> {
		if (!config.type)
			Object.assign(config, { type: 'fred', request: 'launch', name: 'fred: latest recording', position: 'end', stopOnEntry: true });
		if (!config.record)
			return config;
		if (!config.program) {
			void vscode.window.showErrorMessage('fred: "record" needs "program"');
			return undefined;
		}
		try {
			const made = await recorded([config.program, ...(config.args ?? [])], config.cwd);
			return { ...config, recording: made.recording };
		} catch (why) {
			void vscode.window.showErrorMessage(`fred: ${(why as Error).message}`);
			return undefined;
		}
	}
}

class Adapters implements vscode.DebugAdapterDescriptorFactory {
	createDebugAdapterDescriptor(): vscode.DebugAdapterDescriptor {
		return new vscode.DebugAdapterExecutable(fredctl(), ['dap']);
	}
}

// A command's error is shown, not thrown into VS Code's log.
function shown<A extends unknown[]>(command: (...args: A) => Promise<void>): (...args: A) => Promise<void> {
	return async (...args) => {
		try {
			await command(...args);
		} catch (why) {
			void vscode.window.showErrorMessage(`fred: ${(why as Error).message}`);
		}
	};
}

export function activate(context: vscode.ExtensionContext): void {
	const commands: [string, (...args: never[]) => Promise<void>][] = [
		['fred.record', recordAndDebug], ['fred.debugLastFailure', debugLastFailure], ['fred.findVariable', findVariable],
		['fred.findSelection', findSelection], ['fred.goto', goTo], ['fred.bookmark', bookmark],
		['fred.checkpoint', checkpoint], ['fred.explain', () => explain(session())], ['fred.report', showReport],
		['fred.openReport', openReport], ['fred.checkMemory', () => check('memory', 'Memory errors')],
		['fred.checkRaces', () => check('races', 'Data races')],
	];
	for (const [name, command] of commands)
		context.subscriptions.push(vscode.commands.registerCommand(name, shown(command)));
	context.subscriptions.push(
		vscode.window.registerTreeDataProvider('fred.places', places),
		vscode.debug.registerDebugAdapterDescriptorFactory('fred', new Adapters()),
		vscode.debug.registerDebugAdapterTrackerFactory('fred', { createDebugAdapterTracker: s => new Tracker(s) }),
		vscode.debug.registerDebugConfigurationProvider('fred', new Configurations()),
		vscode.debug.onDidTerminateDebugSession(s => {
			if (s.type === 'fred')
				places.clear();
		}));
}

export function deactivate(): void {
	// the sessions end with VS Code
}
