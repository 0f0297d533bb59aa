import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStore } from '../../src/assembly/open-store.ts';
import { migrationFiles } from '../../src/core/store/migrations.ts';
import { trainedOnVisitors } from '../capabilities/training/made-up-profiles.ts';
import { setSchemaVersion } from '../core/store/damage.ts';
import { engines } from '../core/store/engines.ts';
import { caskade, caskadeJson } from '../process.ts';
import { serveHere } from '../serve-here.ts';
import { noSmallDisk, SmallDisk } from '../small-disk.ts';
import { temporaryFolder } from '../support.ts';

/** Whether to correct the pages: `npm run docs:outputs`. */
const corrects = process.env.CORRECT_OUTPUTS === '1';

const pathOf = (page: string) => join(import.meta.dirname, '../../docs', page);

/** A command in a page of the documentation, and what the page says that it prints. */
interface Example {
	readonly page: string;
	/** The command with its prompt. */
	readonly line: string;
	readonly args: readonly string[];
	readonly output: string;
}

/** The commands of a page that are shown with their output, in order. */
function examplesOf(page: string): Example[] {
	const text = readFileSync(pathOf(page), 'utf8');
	return [...text.matchAll(/^```\n(.*?)^```/gms)].flatMap(([, block = '']) =>
		block.split(/^(?=[$#] )/m).flatMap((part) => {
			const [line = '', ...output] = part.split('\n');
			const [, words] = /^[$#] (?:(?:.* )?(?:\S+\/)?bin\/)?caskade ([^>|…]+)$/.exec(line) ?? [];
			return words && output.join('') !== ''
				? [{ page, line, args: wordsOf(words), output: output.join('\n') }]
				: [];
		}),
	);
}

function wordsOf(line: string): string[] {
	return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? (plain as string));
}

/** What differs from one run to the next. */
const variable: readonly (readonly [string, RegExp])[] = [
	['KEY', /caskade_key_[\w-]{43}/],
	['KEY_ID', /\bk_[0-9a-f]{12}\b/],
	['SIGNING_KEY', /\bs_[0-9a-f]{12}\b/],
	['CASK', /\beyJ[\w.…-]+/],
	['VID', /\b[0-9a-f]{32}\b/],
	['TIME', /\b\d{4}-\d\d-\d\dT[\d:.-]+Z/],
	['BYTES', /\b\d+ bytes\b/],
	['SIZE', /\b(?:\d{1,4} (?:B|KiB)|[1-9]\d{0,3}\.\d [MGT]iB)\b/],
	['FRACTION', /\b0\.\d{3,4}\b/],
	['PERCENTILE', /(?<="percentile":)\d+/],
	['BAND', /(?<="band":)"\w+"/],
	['COMMIT', /\b[0-9a-f]{12}\b/],
	['UPTIME', /\b\d+ \((?:\d+ min )?\d+ s\)/],
	['VERSION', /(?<=PostgreSQL )\d+\.\d+/],
];
/** What is no name of anything. */
const quantities: ReadonlySet<string> = new Set([
	...['BYTES', 'SIZE', 'FRACTION', 'PERCENTILE', 'BAND', 'COMMIT', 'UPTIME', 'VERSION'],
]);
const anyVariable = new RegExp(
	variable.map(([name, pattern]) => `(?<${name}>${pattern.source})`).join('|'),
	'g',
);

/** A part of a text that differs. */
interface Part {
	readonly name: string;
	readonly text: string;
}

/** A text with the names of what differs, and these parts. Columns are as wide as their contents. */
function shapeOf(text: string): { shape: string; parts: Part[] } {
	const parts: Part[] = [];
	const shape = text.replaceAll(anyVariable, (part, ...rest) => {
		const groups = rest.at(-1) as Record<string, string | undefined>;
		const name = Object.keys(groups).find((group) => groups[group] !== undefined) as string;
		parts.push({ name, text: part });
		return name;
	});
	return { shape: shape.replaceAll(/ {2,}/g, '  ').trimEnd(), parts };
}

function correct(page: string, wrong: string, right: string): void {
	const text = readFileSync(pathOf(page), 'utf8');
	assert.ok(text.includes(wrong), wrong);
	writeFileSync(
		pathOf(page),
		text.replace(wrong, () => right),
	);
}

/** Runs the commands of pages, and compares what they print with what the pages say. */
class Pages {
	/** What the pages call something, and what it is here. */
	readonly #names: Map<string, string>;

	constructor(names: Readonly<Record<string, string>>) {
		this.#names = new Map(Object.entries(names));
	}

	/** Says what the pages call something. */
	call(there: string, name: string): void {
		this.#names.set(there, name);
	}

	/** @param more flags that the page leaves out */
	async run({ page, line, args, output }: Example, more: readonly string[]): Promise<void> {
		const here = args.map((arg) => this.#names.get(arg) ?? arg);
		const { stdout, stderr } = await caskade([...here, ...more]);
		const [said, prints] = [shapeOf(output), shapeOf(stdout)];
		// What the page has a name for is called so; in this order, also where the page is wrong about the rest.
		const ofName = Map.groupBy(prints.parts, ({ name }) => name);
		for (const { name, text } of said.parts) {
			const part = ofName.get(name)?.shift();
			if (part && !quantities.has(name) && !this.#names.has(text)) this.#names.set(text, part.text);
		}
		let printed = stdout;
		for (const [there, name] of this.#names) printed = printed.replaceAll(name, there);
		const { shape } = shapeOf(printed);
		if (corrects && shape !== said.shape) correct(page, `${line}\n${output}`, `${line}\n${printed}`);
		else assert.equal(shape, said.shape, `caskade ${args.join(' ')}\n${printed}${stderr}`);
	}
}

/** Adds the two models that the page shows. */
async function addModels(address: string, aid: string): Promise<void> {
	for (const [kind, at] of [
		['logistic', '2026-11-14T03:00:12.101Z'],
		['boosting', '2026-11-21T03:00:14.518Z'],
	] as const) {
		const store = await openStore(address, { now: () => Date.parse(at) });
		const { id } = await store.control.account(aid);
		const { model, report } = trainedOnVisitors(kind);
		const texts = { body: JSON.stringify(model), report: JSON.stringify(report) };
		await store.control.insertModel(id, { goal: 'subscription', scope: 'vid', ...texts }, 'activate it');
		await store.close();
	}
}

const aid = 'c-a-acme-uk';

/** A visitor of a customer who has subscribed; and the file that names the visitor as a CRM does. */
async function addCustomer(at: readonly string[], folder: string, crm: string): Promise<void> {
	const hit = {
		type: 'hit',
		at: '2026-01-31T10:00:00Z',
		visitor: 'c-17',
		url: 'https://shop.example/pricing',
	};
	const lines = [
		hit,
		{
			...hit,
			at: '2026-01-31T10:04:00Z',
			cid: 'customer-42',
			events: [{ name: 'checkout', tid: 'order-1' }],
		},
		{
			type: 'subscription',
			at: '2026-01-31T10:05:00Z',
			tid: 'order-1',
			subid: 'sub-77',
			cid: 'customer-42',
			evt: 'newsletter',
			rvn: 499,
		},
	];
	const file = join(folder, 'history.ndjson');
	writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
	await caskadeJson(['import', aid, file, '--mapping', crm, ...at]);
}

test("the operator's manual shows what the commands print", async (t) => {
	const folder = temporaryFolder(t);
	const address = `sqlite:${join(folder, 'data')}`;
	const at = ['--database', address];
	const backup = join(folder, 'backup');
	const crm = join(folder, 'crm.ndjson');
	const pages = new Pages({ '/var/backups/caskade/2026-11-21': backup, 'crm.ndjson': crm });
	/** What the page takes for granted before a command, and what it leaves out after it. */
	const before: Readonly<Record<string, () => Promise<unknown>>> = {
		'account delete': () => caskadeJson(['account', 'create', 'c-a-acme-us', '--client', 'acme', ...at]),
		'model list': () => addModels(address, aid),
		score: () => addCustomer(at, folder, crm),
		status: () => serve(),
	};
	const after: Readonly<Record<string, () => Promise<unknown>>> = {
		'account disable': () => caskadeJson(['account', 'enable', aid, ...at]),
		'client disable': () => caskadeJson(['client', 'enable', 'acme', ...at]),
	};
	await using closing = new AsyncDisposableStack();
	const serve = async () => {
		const server = closing.use(await serveHere(at));
		pages.call('http://127.0.0.1:8080', server.url);
	};
	const examples = examplesOf('how-to/operating.md');
	assert.ok(examples.length > 20);
	for (const example of examples) {
		const names = new Set([example.args[0] as string, example.args.slice(0, 2).join(' ')]);
		for (const name of names) await before[name]?.();
		await pages.run(example, at);
		for (const name of names) await after[name]?.();
	}
});

test('the page on repairs shows what a restore prints, and who is erased again', async (t) => {
	const folder = temporaryFolder(t);
	const [data, backup] = [join(folder, 'data'), join(folder, 'backup')];
	const at = ['--database', `sqlite:${data}`];
	await caskadeJson(['account', 'create', aid, '--client', 'acme', ...at]);
	await caskadeJson(['key', 'issue', '--client', 'acme', ...at]);
	await addCustomer(at, folder, join(folder, 'crm.ndjson'));
	await caskadeJson(['backup', backup, ...at]);
	await caskadeJson(['visitor', 'erase', aid, '--cid', 'customer-42', '--yes', ...at]);
	const pages = new Pages({ '/var/backups/caskade/2026-11-21': backup, '/var/lib/caskade': data });
	const examples = examplesOf('how-to/repair.md').slice(0, 3);
	assert.deepEqual(
		examples.map(({ args }) => args[0]),
		['restore', 'doctor', 'visitor'],
	);
	for (const example of examples) await pages.run(example, at);
});

const skip = noSmallDisk();

test('the page on repairs shows what doctor prints on a disk that is almost full, and full', {
	skip,
}, async () => {
	using disk = new SmallDisk();
	const at = ['--database', `sqlite:${disk.path}`];
	await caskadeJson(['plan', 'create', 'x', ...at]);
	const [almost, full] = examplesOf('how-to/repair.md').slice(3);
	const first = (text: string) => shapeOf(`${text.split('\n')[0]}`).shape;
	assert.equal(first((await caskade(['doctor', ...at])).stdout), first((almost as Example).output));
	disk.fill();
	const { stderr } = await caskade(['doctor', ...at]);
	assert.equal(stderr.replace(disk.path, '/var/lib/caskade'), (full as Example).output);
});

test('the installation page shows what doctor prints on PostgreSQL', async (t) => {
	const [, postgres] = engines;
	const at = ['--database', (await postgres?.freshAddress(t)) as string];
	await caskadeJson(['account', 'create', 'c-a-demo-local', '--client', 'demo', ...at]);
	await caskadeJson(['key', 'issue', '--client', 'demo', ...at]);
	const [doctor] = examplesOf('how-to/install.md').filter(({ args }) => args[0] === 'doctor');
	await new Pages({}).run(doctor as Example, at);
});

test('the manual shows how an older version refuses a newer database', async (t) => {
	const folder = temporaryFolder(t);
	const at = ['--database', `sqlite:${folder}`];
	await caskadeJson(['plan', 'create', 'x', ...at]);
	setSchemaVersion(join(folder, 'control.sqlite'), migrationFiles('sqlite', 'control').length + 1);
	const { stderr } = await caskade(['usage', ...at]);
	const page = readFileSync(pathOf('how-to/operating.md'), 'utf8');
	assert.ok(page.includes(`\n${stderr}`), stderr);
});
