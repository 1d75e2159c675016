// SPDX-License-Identifier: MIT
// places.ts: the tree of the positions that have a meaning: findings, bookmarks, checkpoints, both ends.
import * as vscode from 'vscode';
import { Check, Explanation, Finding, Location, Moment, Step } from './fredctl';

interface Named { name: string; position: string }
export interface Lists { checkpoints: Named[]; bookmarks: Named[] }

export class Place extends vscode.TreeItem {
	constructor(label: string, public readonly position?: string, public readonly children?: Place[]) {
		super(label, children ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.None);
		if (position !== undefined)
			this.command = { command: 'fred.goto', title: 'Go there', arguments: [position] };
	}
}

function lineOf(at: Location | null | undefined): string {
	return at?.file ? `${at.file.replace(/.*\//, '')}:${at.line}` : at?.function ?? '';
}

// process: the one that is debugged; a step of another one cannot be gone to.
function stepPlace(step: Step, number: number, process: number): Place {
	const place = new Place(`${number}. ${step.words}`, step.process === process ? step.at : undefined);
	place.description = lineOf(step.location);
	place.tooltip = [step.words, step.location?.text ?? '', `process ${step.process}, ${step.at}`].filter(s => s).join('\n');
	return place;
}

function momentPlace(label: string, moment: Partial<Moment>, reachable: boolean, children?: Place[]): Place {
	const place = new Place(label, reachable ? moment.at ?? undefined : undefined, children?.length ? children : undefined);
	place.description = lineOf(moment.location);
	place.tooltip = [label, moment.location?.text ?? '', moment.at ?? ''].filter(s => s).join('\n');
	return place;
}

// reachable: it is of the process that is debugged
function findingPlace(f: Finding, reachable: boolean): Place {
	const parts: [string, Moment | null | undefined][] = [
		['allocated', f.block?.allocated], ['freed', f.block?.freed],
		[f.earlier?.access ?? '', f.earlier], [f.later?.access ?? '', f.later]];
	const children = parts.flatMap(([label, moment]) => moment ? [momentPlace(label, moment, reachable)] : []);
	return momentPlace(f.count > 1 ? `${f.words} (${f.count} times)` : f.words, f.later ?? f, reachable, children);
}

function namedPlace(prefix: string, n: Named): Place {
	const place = new Place(prefix + n.name, n.position);
	place.description = n.position;
	return place;
}

export class Places implements vscode.TreeDataProvider<Place> {
	private readonly changed = new vscode.EventEmitter<void>();
	readonly onDidChangeTreeData = this.changed.event;
	private lists: Lists = { checkpoints: [], bookmarks: [] };
	private findings: { text: string; steps: Place[] } = { text: '', steps: [] };
	private readonly checks = new Map<string, { text: string; found: Place[] }>();

	setLists(lists: Lists): void {
		this.lists = lists;
		this.changed.fire();
	}

	// text: what is said when there are no steps
	setFindings(explanation: Explanation | undefined, text: string, process: number): void {
		const chain = explanation?.chain ?? [];
		this.findings = {
			text: explanation ? explanation.failure.text : text,
			steps: chain.map((step, i) => stepPlace(step, i + 1, process)),
		};
		this.changed.fire();
	}

	// what: the group's name; text: what is said while there is no result
	setCheck(what: string, check: Check | undefined, text: string, process: number): void {
		const found = (check?.findings ?? []).map(f => findingPlace(f, check?.process === process));
		this.checks.set(what, { text: check ? [found.length ? `${found.length}` : 'none', ...check.notes ?? []].join('; ') : text, found });
		this.changed.fire();
	}

	clear(): void {
		this.checks.clear();
		this.lists = { checkpoints: [], bookmarks: [] };
		this.setFindings(undefined, '', 1);
	}

	getTreeItem(place: Place): vscode.TreeItem {
		return place;
	}

	getChildren(place?: Place): Place[] {
		if (place)
			return place.children ?? [];
		const findings = new Place('Findings', undefined, this.findings.steps);
		findings.description = this.findings.text;
		return [
			findings,
			...[...this.checks].map(([what, { text, found }]) => {
				const group = new Place(what, undefined, found);
				group.description = text;
				return group;
			}),
			new Place('Bookmarks', undefined, this.lists.bookmarks.map(b => namedPlace('', b))),
			new Place('Checkpoints', undefined, this.lists.checkpoints.map(c => namedPlace('checkpoint ', c))),
			new Place('Start of the recording', 'start'),
			new Place('End of the recording', 'end'),
		];
	}
}
