// SPDX-License-Identifier: MIT
// report.ts: the HTML reports of explain and bisect in a tab. They need no network, and get none.
import * as fs from 'fs';
import * as os from 'os';
import * as path from 'path';
import * as vscode from 'vscode';
import { run } from './fredctl';

const POLICY = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; ` +
	`script-src 'unsafe-inline'; img-src data:; font-src data:">`;

export function confined(html: string): string {
	return /<head[^>]*>/i.test(html) ? html.replace(/<head[^>]*>/i, head => head + POLICY) : POLICY + html;
}

export function show(title: string, html: string): vscode.WebviewPanel {
	const panel = vscode.window.createWebviewPanel('fred.report', title, vscode.ViewColumn.Beside,
		{ enableScripts: true, localResourceRoots: [] });
	panel.webview.html = confined(html);
	return panel;
}

export async function ofRecording(fredctl: string, recording: string): Promise<vscode.WebviewPanel> {
	const folder = await fs.promises.mkdtemp(path.join(os.tmpdir(), 'fred-report-'));
	try {
		const file = path.join(folder, 'report.html');
		await run(fredctl, ['--quiet', 'report', recording, '--html', file]);
		return show(`Report: ${path.basename(recording)}`, await fs.promises.readFile(file, 'utf8'));
	} finally {
		await fs.promises.rm(folder, { recursive: true, force: true });
	}
}
