import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';

const project = join(import.meta.dirname, '..');

function pages(folder: string): string[] {
	return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
		const path = join(folder, entry.name);
		if (entry.isDirectory())
			return entry.name === 'node_modules' || entry.name === 'dist' || entry.name[0] === '.'
				? []
				: pages(path);
		return entry.name.endsWith('.md') ? [path] : [];
	});
}

function withoutCode(text: string): string {
	return text.replace(/^```.*?^```/gms, '');
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): Set<string> {
	const headings = withoutCode(readFileSync(page, 'utf8')).matchAll(/^#+ (.+)$/gm);
	return new Set(
		Array.from(headings, ([, heading]) =>
			(heading as string)
				.toLowerCase()
				.replace(/[^\p{L}\p{N}\s_-]/gu, '')
				.replaceAll(' ', '-'),
		),
	);
}

test('every link between pages of the documentation resolves', () => {
	const broken: string[] = [];
	for (const page of pages(project))
		for (const [, link] of withoutCode(readFileSync(page, 'utf8')).matchAll(/\]\(([^)\s]+)\)/g)) {
			const [path = '', anchor] = (link as string).split('#');
			if (/^[a-z]+:/.test(path)) continue;
			const target = path === '' ? page : resolve(dirname(page), path);
			const leads =
				existsSync(target) &&
				(anchor === undefined || !target.endsWith('.md') || anchorsOf(target).has(anchor));
			if (!leads) broken.push(`${relative(project, page)}: ${link}`);
		}
	assert.deepEqual(broken, []);
});
