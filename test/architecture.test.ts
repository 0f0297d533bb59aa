import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { places, roomOf } from './rooms.ts';

const root = join(import.meta.dirname, '../src');

/** Folders and single files of `src/`, from the top down: each may import only what comes after it. */
const order = [
	...[
		'main',
		'cli',
		'upload',
		'serve',
		'jobs',
		'demo',
		'import',
		'app',
		'console',
		'acts',
		'api',
		'webhooks',
		'reports',
	],
	...['segments', 'scoring', 'collect', 'access', 'store/open', 'capabilities', 'store', 'schema', 'domain'],
];
/** At the very bottom: they import no folder. */
const bottom = [
	'metrics',
	'log',
	'log-throttle',
	'deadline',
	'port-error',
	'wakeable-sleep',
	'garbage',
	'clock',
	'format',
	'durations',
	'errors',
	'node-http',
	'version',
];
/** Beside the order: who may import them, and what they may import. */
const beside: Readonly<Record<string, { importedBy: readonly string[]; imports: readonly string[] }>> = {
	http: { importedBy: ['api', 'console', 'app', 'serve'], imports: ['schema', ...bottom] },
	client: { importedBy: ['cli', 'upload'], imports: [] },
	config: { importedBy: ['cli', 'serve', 'acts'], imports: ['domain', ...bottom] },
};
/** Pure values, rules and checks. Of the bottom they may import only `pureBottom`. */
const pure = ['schema', 'domain'];
const pureBottom = ['durations', 'errors'];

interface Arrow {
	readonly from: string;
	readonly to: string;
}

/** Every import between files of `src/`, types, threads and lazy ones included. */
function arrows(): Arrow[] {
	const pattern =
		/^(?:import|export)\s[^;]*?from '(\.[^']+)'|^import '(\.[^']+)'|\bimport\('(\.[^']+)'\)|new URL\('(\.[^']+\.ts)'/gms;
	return globSync('**/*.{ts,js}', { cwd: root, exclude: ['collect/tag/**'] }).flatMap((from) =>
		[...readFileSync(join(root, from), 'utf8').matchAll(pattern)].map((match) => ({
			from,
			to: relative(root, join(root, dirname(from), match.slice(1).find(Boolean) as string)),
		})),
	);
}

/** The folder of a file, or the file itself where it lies at the root, or chooses what the store below it consists of. */
function partOf(file: string): string {
	if (file === 'store/open.ts') return 'store/open';
	return (file.replace(/^\.\.\//, '').split('/')[0] as string).replace(/\.(ts|js)$/, '');
}

function isAllowed(from: string, to: string): boolean {
	if (from === to) return true;
	if (bottom.includes(from)) return bottom.indexOf(to) > bottom.indexOf(from);
	if (bottom.includes(to)) return !pure.includes(from) || pureBottom.includes(to);
	if (beside[from]) return beside[from].imports.includes(to);
	if (beside[to]) return beside[to].importedBy.includes(from);
	return order.indexOf(from) < order.indexOf(to);
}

test('every file of src/ has a place in the order', () => {
	const places = new Set([...order, ...bottom, ...Object.keys(beside)]);
	const parts = new Set(globSync('**/*.{ts,js}', { cwd: root }).map(partOf));
	assert.deepEqual([...parts.difference(places)], []);
});

test('arrows between folders go one way', () => {
	const against = arrows().filter(({ from, to }) => !isAllowed(partOf(from), partOf(to)));
	assert.deepEqual(
		against.map(({ from, to }) => `${from} → ${to}`),
		[],
	);
});

test('a stage of scoring imports only those before it', () => {
	const stages = ['rows', 'fit', 'serve', 'judge', 'follow', 'pages'];
	const stageOf = (file: string) => stages.indexOf(file.split('/')[1] as string);
	const inside = arrows().filter(({ from, to }) => [from, to].every((file) => partOf(file) === 'scoring'));
	assert.ok(inside.length > 0);
	assert.ok(inside.every(({ from }) => stageOf(from) >= 0));
	const against = inside.filter(({ from, to }) => stageOf(from) < stageOf(to));
	assert.deepEqual(
		against.map(({ from, to }) => `${from} → ${to}`),
		[],
	);
});

test('there are no import cycles', () => {
	const imports = Map.groupBy(arrows(), ({ from }) => from);
	const done = new Set<string>();
	const circles: string[] = [];
	const visit = (file: string, path: readonly string[]): void => {
		if (path.includes(file)) {
			circles.push([...path.slice(path.indexOf(file)), file].join(' → '));
			return;
		}
		if (done.has(file)) return;
		for (const { to } of imports.get(file) ?? []) visit(to, [...path, file]);
		done.add(file);
	};
	for (const file of imports.keys()) visit(file, []);
	assert.deepEqual(circles, []);
});

test('the core imports nothing of capabilities, of what pages and commands share, and of what puts all together', () => {
	const inside = arrows().filter(({ to }) => !to.startsWith('..'));
	assert.deepEqual(
		[...new Set(inside.map(({ from }) => from))].filter((file) => !roomOf(file)),
		[],
	);
	const out = inside.filter(({ from, to }) => roomOf(from) === 'core' && roomOf(to) !== 'core');
	assert.deepEqual(
		out.map(({ from, to }) => `${from} → ${to}`),
		[],
	);
	assert.ok(inside.filter(({ from, to }) => roomOf(from) !== 'core' && roomOf(to) === 'core').length > 500);
});

test('a capability fills at most eight slots, and a read has at most two hooks', () => {
	const membersOf = (file: string, name: string) => {
		const text = readFileSync(join(root, file), 'utf8');
		const [, body = ''] = new RegExp(`export interface ${name} \\{\n(.*?)\n\\}`, 's').exec(text) ?? [];
		return [...body.matchAll(/^\t(?:readonly )?(\w+)\??[:(]/gm)].map(([, member]) => member);
	};
	const slots = membersOf('store/capability.ts', 'Capability');
	assert.ok(slots.length > 0 && slots.length <= 8, slots.join(', '));
	assert.deepEqual(membersOf('segments/visitor-reads.ts', 'ReadHooks'), ['withholding', 'sample']);
});

test('the map of rooms names only what there is', () => {
	const gone = places.filter(({ name }) => !existsSync(join(root, name))).map(({ name }) => name);
	assert.deepEqual(gone, []);
});

test('an import against the order is found, type imports and threads included', () => {
	assert.equal(isAllowed('store', 'access'), false);
	assert.equal(isAllowed('domain', 'log'), false);
	assert.equal(isAllowed('http', 'api'), false);
	assert.equal(isAllowed('app', 'config'), false);
	assert.ok(
		arrows().some(
			({ from, to }) =>
				from === 'store/sqlite/queue/write-queue.ts' && to === 'store/sqlite/queue/writer-thread.ts',
		),
	);
	assert.ok(arrows().some(({ from, to }) => from === 'main.js' && to === 'cli/caskade.ts'));
});

/** What both engines have under one name, and whoever uses it names the engine. */
const twins = /^store\/(sqlite|postgres)\//;

test('no exported name stands for two things', () => {
	const pattern = /^export (?:async )?(?:abstract )?(?:function\*?|class|interface|type|const) (\w+)/gm;
	const places = new Map<string, Set<string>>();
	for (const file of globSync('**/*.ts', { cwd: root, exclude: ['collect/tag/**'] }))
		for (const [, name = ''] of readFileSync(join(root, file), 'utf8').matchAll(pattern))
			places.set(name, (places.get(name) ?? new Set()).add(file));
	const twice = [...places].filter(
		([, files]) => files.size > 1 && ![...files].every((file) => twins.test(file)),
	);
	assert.deepEqual(
		twice.map(([name, files]) => `${name}: ${[...files].join(', ')}`),
		[],
	);
});

test('no object literal is spread only to stay on one line', () => {
	const project = join(root, '..');
	const spread = globSync('{src,test,bench,client/src,demo}/**/*.ts', { cwd: project }).filter((file) =>
		/\.\.\.\{/.test(readFileSync(join(project, file), 'utf8')),
	);
	assert.deepEqual(spread, []);
});

test('the rows of a batch of statements are taken by name', () => {
	// Whatever runs a transaction has to put rows beside statements.
	const exclude = ['store/steps.ts', 'store/*/engine/run-steps.ts'];
	const byPlace = globSync('**/*.ts', { cwd: root, exclude }).filter((file) =>
		/(?:=|=>|[([,?:]|\.\.\.|\breturn|\bof|\bin)\s*yield\b(?!\*)|\[[^\]]*\] =\s+yield\* (?:ask|rowsOf)\b/.test(
			readFileSync(join(root, file), 'utf8'),
		),
	);
	assert.deepEqual(byPlace, []);
});

test('tests of behaviour know no SQL: only those of the store and proofs do', () => {
	const sql = /node:sqlite|from 'pg'|'sqlite3'|\.query\(|\bsql[:`]|\bSELECT .+ FROM |\bPRAGMA \w/;
	const knowing = globSync('**/*.{ts,js}', {
		cwd: import.meta.dirname,
		exclude: ['store/**', 'proof/**', 'architecture.test.ts'],
	}).filter((file) => sql.test(readFileSync(join(import.meta.dirname, file), 'utf8')));
	assert.deepEqual(knowing, []);
});
