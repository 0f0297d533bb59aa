import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { drawingStyle } from '../reports/report-drawing.ts';
import type { ConsoleAnswer } from './exchange.ts';

const sheet = `@layer drawing,console;@layer drawing{${drawingStyle}}\n${readFileSync(new URL('./style.css', import.meta.url), 'utf8')}`;
const style = sheet.replaceAll(/\/\*.*?\*\/|\s+/g, ' ').replaceAll(/;? ?([{};]) ?/g, '$1');

/** Its name changes with its content, so that browsers may keep it for ever. */
export const stylePath = `/console/style-${hashOf(style)}.css`;

const scriptNames = ['live.js', 'preview.js', 'crosshair.js', 'copy.js'] as const;
const scripts = new Map(
	scriptNames.map((name) => [name, readFileSync(new URL(`./script/${name}`, import.meta.url), 'utf8')]),
);
const scriptFolder = `/console/script-${hashOf([...scripts.values()].join())}`;

/** Modules that make pages livelier. Nothing needs them. They import each other, so their folder's name changes with any. */
export const scriptPaths = scriptNames.map((name) => `${scriptFolder}/${name}`);

const files = new Map([
	[stylePath, { type: 'text/css', body: style }],
	...[...scripts.values()].map(
		(body, place) => [scriptPaths[place] as string, { type: 'text/javascript', body }] as const,
	),
]);

function hashOf(text: string): string {
	return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** A file that pages need, for everybody. */
export function asset(path: string): ConsoleAnswer | undefined {
	// Browsers ask for it without being told to.
	if (path === '/favicon.ico') return { status: 204, headers: {}, body: '' };
	const file = files.get(path);
	if (!file) return undefined;
	return {
		status: 200,
		headers: {
			'content-type': `${file.type}; charset=utf-8`,
			'cache-control': 'public, max-age=31536000, immutable',
		},
		body: file.body,
	};
}
