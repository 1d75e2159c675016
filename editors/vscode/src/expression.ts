// SPDX-License-Identifier: MIT
// expression.ts: what a selected text asks for.

// Is it a variable, a member, an element, or what a pointer leads to? Then the question is where it got its value;
// anything else is a condition, and the question is where that turned.
export function isObject(text: string): boolean {
	const rest = text.trim().replace(/\[[^\][<>=!&|]*\]/g, '');
	return /^\**\s*(::)?[A-Za-z_]\w*((\.|->|::)\s*[A-Za-z_]\w*)*$/.test(rest) && !/^(true|false|nullptr|NULL)$/.test(rest);
}
