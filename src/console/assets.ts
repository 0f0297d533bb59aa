import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { drawingStyle } from '../reports/report-drawing.ts';
import type { ConsoleAnswer } from './exchange.ts';

const sheet = `@layer drawing,console;@layer drawing{${drawingStyle}}\n${readFileSync(new URL('./style.css', import.meta.url), 'utf8')}`;
const style = sheet.replaceAll(/\/\*.*?\*\/|\n\s*/g, ' ');

/** Its name changes with its content, so that browsers may keep it for ever. */
export const stylePath = `/console/style-${createHash('sha256').update(style).digest('hex').slice(0, 16)}.css`;

/** A file that pages need, for everybody. */
export function asset(path: string): ConsoleAnswer | undefined {
	// Browsers ask for it without being told to.
	if (path === '/favicon.ico') return { status: 204, headers: {}, body: '' };
	if (path !== stylePath) return undefined;
	return {
		status: 200,
		headers: {
			'content-type': 'text/css; charset=utf-8',
			'cache-control': 'public, max-age=31536000, immutable',
		},
		body: style,
	};
}
