import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { appOver } from '../faulty-store.ts';

const project = join(import.meta.dirname, '../..');
const page = readFileSync(join(project, 'docs/how-to/operating.md'), 'utf8');
/** The rows of the table of metrics. */
const rows = page.split('\n').filter((line) => line.startsWith('| `caskade_'));

/** Method and path of every route, from the tree that the framework prints. */
function routesOf(tree: string): { method: string; url: string }[] {
	const path: string[] = [];
	return [...tree.matchAll(/^([│ ]*)[├└]── (\S+)(?: \((\w+))?/gm)].map(
		([, indent = '', part = '', method]) => {
			path.splice(indent.length / 4, Number.POSITIVE_INFINITY, part);
			return { method: method ?? 'GET', url: path.join('') };
		},
	);
}

test('the table of metrics names every operation', async (t) => {
	const { app, logged } = await appOver(t, {});
	const routes = routesOf(app.printRoutes({ commonPrefix: false }));
	assert.ok(routes.some(({ method, url }) => method === 'POST' && url === '/subscription/receipts'));
	for (const { method, url } of routes)
		await app.inject({ method: method as 'GET', url: url.replace(/:\w+/, 'x') });
	const operations = logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'answered');
	assert.equal(operations.length, routes.length);
	const row = rows.find((line) => line.startsWith('| `caskade_http_requests_total')) ?? '';
	const [, named = ''] = /`operation` is (.+), or/.exec(row) ?? [];
	assert.deepEqual(
		[...named.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort(),
		[...new Set(operations.map(({ operation }) => operation))].filter((name) => name !== 'none').sort(),
	);
});

test('the table has every metric', () => {
	const source = globSync('src/**/*.ts', { cwd: project })
		.map((file) => readFileSync(join(project, file), 'utf8'))
		.join('\n');
	const metrics = [...source.matchAll(/name: '(caskade_\w+)'/g)].map(([, name]) => name);
	assert.ok(metrics.length > 10);
	assert.deepEqual(rows.map((row) => /caskade_\w+/.exec(row)?.[0]).sort(), metrics.sort());
});
