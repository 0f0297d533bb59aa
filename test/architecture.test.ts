import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../src');

/** Capabilities from the top down: each may import only what comes after it, and the kit and the core. */
const capabilities = [
	...[
		'documentation',
		'demo',
		'receipts',
		'upkeep',
		'visitors',
		'webhooks',
		'history',
		'accounts',
		'experiments',
		'training',
		'reports',
	],
	'people',
];
/** Folders of `src/core/`, from the top down: each may import only what comes after it. */
const order = [
	'serve-store',
	'start-writing',
	'jobs',
	'api',
	'segments',
	'scoring',
	'collect',
	'access',
	'store',
	'schema',
	'domain',
];
/** At the very bottom of it: they import no folder. */
const bottom = [
	'metrics',
	'log',
	'log-throttle',
	'deadline',
	'listening',
	'wakeable-sleep',
	'garbage',
	'clock',
	'format',
	'durations',
	'errors',
	'node-http',
	'version',
];
/** Beside the order of the core: who of it may import them, and what they may import. */
const beside: Readonly<Record<string, { importedBy: readonly string[]; imports: readonly string[] }>> = {
	http: { importedBy: ['serve-store', 'api'], imports: ['schema', ...bottom] },
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
	return globSync('**/*.{ts,js}', { cwd: root, exclude: ['core/collect/tag/**'] }).flatMap((from) =>
		[...readFileSync(join(root, from), 'utf8').matchAll(pattern)].map((match) => ({
			from,
			to: relative(root, join(root, dirname(from), match.slice(1).find(Boolean) as string)),
		})),
	);
}

/** The folder of a file of the core, or the file itself where it lies at the root. The store knows what a capability may declare. */
function partOf(file: string): string {
	const part = (file.split('/')[1] as string).replace(/\.ts$/, '');
	return part === 'capability' ? 'store' : part;
}

function isAllowedInCore(from: string, to: string): boolean {
	if (from === to) return true;
	if (bottom.includes(from)) return bottom.indexOf(to) > bottom.indexOf(from);
	if (bottom.includes(to)) return !pure.includes(from) || pureBottom.includes(to);
	if (beside[from]) return beside[from].imports.includes(to);
	if (beside[to]) return beside[to].importedBy.includes(from);
	return order.indexOf(from) < order.indexOf(to);
}

const rooms = ['main.js', 'assembly', 'capabilities', 'kit', 'core'];

function isAllowed(from: string, to: string): boolean {
	const [[room, name], [otherRoom, otherName]] = [from.split('/'), to.split('/')] as [string[], string[]];
	if (room !== otherRoom) return rooms.indexOf(room as string) < rooms.indexOf(otherRoom as string);
	if (room === 'core') return isAllowedInCore(partOf(from), partOf(to));
	if (room !== 'capabilities' || name === otherName) return true;
	return capabilities.indexOf(name as string) < capabilities.indexOf(otherName as string);
}

/** The client is a package of its own, whose types are the operations'. */
const inside = (arrows: readonly Arrow[]) => arrows.filter(({ to }) => !to.startsWith('..'));

test('every file of src/ has a place in the order', () => {
	const files = globSync('**/*.{ts,js}', { cwd: root }).filter((file) => !/^main\.|\/script\//.test(file));
	const partsOf = (room: string) =>
		new Set(files.filter((file) => file.startsWith(room)).map((file) => file.split('/')[1] as string));
	assert.deepEqual(new Set(files.map((file) => file.split('/')[0])), new Set(rooms.slice(1)));
	assert.deepEqual([...partsOf('capabilities')].sort(), capabilities.toSorted());
	const places = new Set([...order, ...bottom, ...Object.keys(beside)]);
	const inCore = new Set(files.filter((file) => file.startsWith('core/')).map(partOf));
	assert.deepEqual(inCore, places);
});

test('imports go one way: assembly, capabilities in their order, the kit, the core', () => {
	const all = inside(arrows());
	assert.ok(all.filter(({ from, to }) => !from.startsWith('core/') && to.startsWith('core/')).length > 500);
	const against = all.filter(({ from, to }) => !isAllowed(from, to));
	assert.deepEqual(
		against.map(({ from, to }) => `${from} → ${to}`),
		[],
	);
});

test('a stage of scoring imports only those before it', () => {
	const stages = ['rows', 'model', 'fit', 'serve', 'judge', 'follow', 'pages'];
	const scoring = /^(?:core\/scoring|capabilities\/training)\/(\w+)\//;
	const stageOf = (file: string) => stages.indexOf(scoring.exec(file)?.[1] ?? '');
	const staged = arrows().filter(({ from, to }) => stageOf(from) >= 0 && stageOf(to) >= 0);
	assert.ok(staged.length > 50);
	const against = staged.filter(({ from, to }) => stageOf(from) < stageOf(to));
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

test('a capability fills at most eight slots, and a read has at most two hooks', () => {
	const membersOf = (file: string, name: string) => {
		const text = readFileSync(join(root, file), 'utf8');
		const [, body = ''] = new RegExp(`export interface ${name} [^{]*\\{\n(.*?)\n\\}`, 's').exec(text) ?? [];
		return [...body.matchAll(/^\t(?:readonly )?(\w+)\??[:(]/gm)].map(([, member]) => member);
	};
	const slots = [
		...membersOf('core/capability.ts', 'StoreCapability'),
		...membersOf('core/api/serving-part.ts', 'ServingCapability'),
		...membersOf('kit/capability-declaration.ts', 'Capability').filter((member) => member !== 'name'),
	];
	assert.equal(slots.length, 8, slots.join(', '));
	assert.deepEqual(membersOf('core/segments/visitor-reads.ts', 'ReadHooks'), ['withholding', 'sample']);
});

test('an import against the order is found, type imports and threads included', () => {
	assert.equal(isAllowed('core/store/store.ts', 'core/access/cask.ts'), false);
	assert.equal(isAllowed('core/domain/goal.ts', 'core/log.ts'), false);
	assert.equal(isAllowed('core/http/answer.ts', 'core/api/root.ts'), false);
	assert.equal(isAllowed('core/api/root.ts', 'kit/config.ts'), false);
	assert.equal(isAllowed('capabilities/people/index.ts', 'capabilities/reports/index.ts'), false);
	const queue = 'core/store/sqlite/queue';
	assert.ok(
		arrows().some(
			({ from, to }) => from === `${queue}/sqlite-write-queue.ts` && to === `${queue}/writer-thread.ts`,
		),
	);
	assert.ok(arrows().some(({ from, to }) => from === 'main.js' && to === 'assembly/cli/caskade.ts'));
});

/** What both engines have under one name, and whoever uses it names the engine. */
const twins = /^core\/store\/(sqlite|postgres)\//;

test('one base name is one file, besides what each capability has', () => {
	const files = globSync('**/*.{ts,js}', { cwd: root }).filter(
		(file) => !/(^|\/)(index|acts)\.ts$/.test(file),
	);
	const twice = [...Map.groupBy(files, (file) => basename(file)).values()].filter(({ length }) => length > 1);
	assert.deepEqual(twice, []);
});

test('no exported name stands for two things', () => {
	const pattern = /^export (?:async )?(?:abstract )?(?:function\*?|class|interface|type|const) (\w+)/gm;
	const places = new Map<string, Set<string>>();
	for (const file of globSync('**/*.ts', { cwd: root, exclude: ['core/collect/tag/**'] }))
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
	const exclude = ['core/store/steps.ts', 'core/store/*/engine/*-run-steps.ts'];
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
		exclude: ['core/store/**', 'proof/**', 'architecture.test.ts'],
	}).filter((file) => sql.test(readFileSync(join(import.meta.dirname, file), 'utf8')));
	assert.deepEqual(knowing, []);
});
