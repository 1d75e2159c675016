// SPDX-License-Identifier: MIT
// places.ts: the tree of the positions that have a meaning: findings, bookmarks, checkpoints, both ends.
import * as vscode from 'vscode';
import { Explanation, Step } from './fredctl';

interface Named { name: string; position: string }
export interface Lists { checkpoints: Named[]; bookmarks: Named[] }

export class Place extends vscode.TreeItem {
	constructor(label: string, public readonly position?: string, public readonly children?: Place[]) {
		super(label, children ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.None);
		if (position !== undefined)
			this.command = { command: 'fred.goto', title: 'Go there', arguments: [position] };
	}
}

// process: the one that is debugged; a step of another one cannot be gone to.
function stepPlace(step: Step, number: number, process: number): Place {
	const place = new Place(`${number}. ${step.words}`, step.process === process ? step.at : undefined);
	const at = step.location;
	place.description = at?.file ? `${at.file.replace(/.*\//, '')}:${at.line}` : at?.function ?? '';
	place.tooltip = [step.words, at?.text ?? '', `process ${step.process}, ${step.at}`].filter(s => s).join('\n');
	return place;
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

	clear(): void {
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
			new Place('Bookmarks', undefined, this.lists.bookmarks.map(b => namedPlace('', b))),
			new Place('Checkpoints', undefined, this.lists.checkpoints.map(c => namedPlace('checkpoint ', c))),
			new Place('Start of the recording', 'start'),
			new Place('End of the recording', 'end'),
		];
	}
}
