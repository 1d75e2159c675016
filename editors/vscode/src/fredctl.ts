// SPDX-License-Identifier: MIT
// fredctl.ts: runs fredctl, and what its JSON has.
import { execFile } from 'child_process';

export interface Exit { code?: number; signal?: number }

export interface Recording {
	name: string;
	recording: string; // its folder
	program: string;
	created: string;
	exit: Exit | null; // null: it is in the making, or nobody knows
	complete: boolean;
}

export interface Location { function: string | null; file: string | null; line: number | null; text: string | null }

// A step of explain's chain
export interface Step { role: string; words: string; at: string; process: number; location: Location | null }

export interface Explanation { found: boolean; failure: { text: string }; chain: Step[]; process: number; end: { text: string } }

// A moment of the recording, as fred/goto takes it, and the statement there
export interface Moment { at: string | null; location: Location | null }

// Of check memory: at and block; of check races: earlier and later
export interface Finding extends Partial<Moment> {
	words: string;
	count: number;
	block?: { allocated?: Moment | null; freed?: Moment | null } | null;
	earlier?: Moment & { access: string };
	later?: Moment & { access: string };
}

export interface Check { findings: Finding[]; process: number; notes?: string[] }

// The error is what fredctl says of it.
export function run(fredctl: string, args: string[]): Promise<string> {
	return new Promise((done, failed) =>
		execFile(fredctl, args, { maxBuffer: 1 << 28 }, (error, stdout, stderr) => {
			// explain's and report's exit status 1: nothing was found, which is an answer
			if (error && (error.code === undefined || typeof error.code === 'string' || Number(error.code) > 1))
				failed(new Error(stderr.trim() || error.message));
			else
				done(stdout);
		}));
}

export async function recordings(fredctl: string): Promise<Recording[]> {
	return JSON.parse(await run(fredctl, ['--json', 'ls'])).recordings;
}

export function failed(r: Recording): boolean {
	return !!r.exit && ((r.exit.signal ?? 0) !== 0 || (r.exit.code ?? 0) !== 0);
}

export function latest(list: Recording[]): Recording | undefined {
	return list.reduce<Recording | undefined>((a, b) => (a && a.created >= b.created ? a : b), undefined);
}

// "died of signal 6", "exit status 1"
export function describeExit(e: Exit | null): string {
	return !e ? 'not complete' : e.signal ? `died of signal ${e.signal}` : `exit status ${e.code ?? 0}`;
}

// A command line as a shell splits it: quotes and backslashes, nothing else.
export function splitWords(line: string): string[] {
	const words: string[] = [];
	let word: string | undefined, quote = '';
	for (let i = 0; i < line.length; i++) {
		const c = line[i];
		if (quote ? c === quote : c === '"' || c === "'") {
			quote = quote ? '' : c;
			word ??= '';
		} else if (c === '\\' && quote !== "'" && i + 1 < line.length) {
			word = (word ?? '') + line[++i];
		} else if (!quote && /\s/.test(c)) {
			if (word !== undefined)
				words.push(word);
			word = undefined;
		} else {
			word = (word ?? '') + c;
		}
	}
	if (quote)
		throw new Error(`a ${quote} is not closed`);
	return word === undefined ? words : [...words, word];
}
