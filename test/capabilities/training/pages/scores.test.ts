import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createConsole } from '../../../../src/assembly/console/console.ts';
import { openStore } from '../../../../src/assembly/open-store.ts';
import { newLoginLink } from '../../../../src/capabilities/people/access/sign-in.ts';
import { runReport } from '../../../../src/capabilities/reports/run-report.ts';
import { AccessDirectory } from '../../../../src/core/access/directory.ts';
import { dayMs, hourMs } from '../../../../src/core/durations.ts';
import { isoTime } from '../../../../src/core/format/iso-time.ts';
import { formatNumber } from '../../../../src/core/format/numbers.ts';
import { foldAll } from '../../../../src/core/store/fold-all.ts';
import type { PersonRole } from '../../../../src/kit/person.ts';
import { historyReader } from '../../../../src/kit/reading/histories.ts';
import { Browser, consoleUrl } from '../../../assembly/console/browser.ts';
import { computeAt } from '../../../assembly/console/here.ts';
import { addAccount } from '../../../core/store/engines.ts';
import { parts } from '../../../pages.ts';
import { caskade, caskadeJson } from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { type Lasting, temporaryFolder } from '../../../support.ts';
import { logEndMs, madeUpVisitors, storeVisitors } from '../made-up-log.ts';

const aid = 'c-a-demo-local';
const path = `/console/${aid}/scores`;
const models = `${path}/models`;
const goal = 'subscription';

interface ModelRow {
	readonly goal: string;
	readonly scope: 'vid' | 'sid';
	readonly version: string;
	readonly active: boolean;
	readonly kind: string;
	readonly auc: number | null;
}

/** The demo's account, and a console that trains and makes reports. */
async function withDemo(t: Lasting) {
	const database = `sqlite:${temporaryFolder(t)}/data`;
	const at = ['--database', database];
	const list = async () => (await caskadeJson(['model', 'list', aid, ...at])) as ModelRow[];
	// Visits fall on other days each hour, and at some hours training finds nothing surely better than the base rate.
	for (let seed = 1; ; seed++) {
		assert.ok(seed < 10, 'a model becomes active');
		assert.equal((await caskade(['demo', '--visitors', '1000', '--seed', `${seed}`, ...at])).code, 0);
		assert.equal((await caskade(['train', aid, '--goal', goal, ...at])).code, 0);
		if ((await list()).some(({ active, scope }) => active && scope === 'vid')) break;
	}
	const store = await openStore(database, {});
	t.after(() => store.close());
	const errors: unknown[] = [];
	const directory = await AccessDirectory.load(store.control, (error) => errors.push(error));
	t.after(() => directory.stop());
	const console = createConsole({
		store,
		directory,
		consoleUrl,
		now: store.now,
		monotonicMs: () => performance.now(),
		onError: (error) => errors.push(error),
		parts,
		compute: computeAt(store, ({ account, query }) => runReport(store, account, query)),
	});
	t.after(() => console.stop());
	const person = async (role: PersonRole, of: string | null = aid) => {
		const { people } = store.control;
		const made = await people.create(`${role}@example.com`, [{ aid: of, role }]);
		const browser = new Browser(console);
		await browser.open((await newLoginLink(store.control, made, consoleUrl)).link);
		return browser;
	};
	return { at, store, directory, errors, person, list };
}

/** The texts of the cells of the rows of a table. */
function rowsOf(body: string, label: string): string[][] {
	const table = body.split(`aria-label="${label}"><table>`)[1]?.split('</table>')[0] ?? '';
	return table
		.split('<tr>')
		.slice(2)
		.map((row) =>
			[...row.matchAll(/<t[dh][^>]*>(.*?)<\/t[dh]>/gs)].map(
				([, cell]) => cell?.replaceAll(/<[^>]*>/g, '').trim() ?? '',
			),
		);
}

test('the page of scores tells what the commands tell, trains as they do, and switches back', {
	skip: takesLong,
}, async (t) => {
	const { at, person, list, errors, store, directory } = await withDemo(t);
	const [victor, olga] = [await person('viewer'), await person('operator')];
	const before = await list();

	const { status, body: likely } = await victor.whole(`${path}?goal=${goal}&treating=1&worth=50.00`);
	const body = likely + (await victor.whole(`${path}?goal=${goal}&part=model`)).body;
	assert.ok(likely.includes('£1.00') && likely.includes('£50.00'), 'amounts in the units of the currency');
	assert.match(
		(await victor.whole(`${path}?goal=${goal}&treating=1.234&worth=50`)).body,
		/such as 1\.50, with at most 2 decimals/,
	);
	assert.equal(status, 200);
	assert.doesNotMatch(body, / style=|<script(?! type="module" src="\/console\/)|Train this goal/);
	assert.ok((likely.match(/<\w/g) ?? []).length < 3000);
	for (const part of [
		'Did the predictions come true?',
		'Threshold',
		'best: from',
		'Calibration',
		'What moves scores most',
		'<svg',
	])
		assert.ok(body.includes(part), part);
	const told = (await caskadeJson(['score', aid, '--goal', goal, ...at])) as { band: string }[];
	const bands = Map.groupBy(told, ({ band }) => band);
	assert.ok(bands.size > 1);
	assert.deepEqual(
		rowsOf(body, 'Scores by band').map(([band, visitors]) => [band, visitors]),
		['high', 'medium', 'low']
			.filter((band) => bands.has(band))
			.map((band) => [band, formatNumber(bands.get(band)?.length ?? 0)]),
	);
	assert.doesNotMatch(body, /band=high/, 'viewers see no visitors');
	const { body: forOperators } = await olga.whole(`${path}?goal=${goal}`);
	const toHigh = /visitors\?goal=subscription&#38;band=high/.exec(forOperators)?.[0].replace('&#38;', '&');
	const { body: high } = await olga.whole(`/console/${aid}/${toHigh}`);
	const listed = new Set([...high.matchAll(/visitors\/([0-9a-f]{32})"/g)].map(([, vid]) => vid));
	assert.equal(listed.size, Math.min(50, bands.get('high')?.length ?? 0));
	const ofHigh = new Set((bands.get('high') as unknown as { vid: string }[]).map(({ vid }) => vid));
	assert.ok(
		[...listed].every((vid) => ofHigh.has(vid as string)),
		'all of the band',
	);

	const expected = (all: readonly ModelRow[]) =>
		all
			.filter((model) => model.goal === goal)
			.toReversed()
			.map(({ version, auc, active }) => [version, auc?.toFixed(3) ?? '-', active ? 'in use' : '']);
	const shown = (page: string) => rowsOf(page, 'Versions').map((row) => [row[0], row[4], row[7]]);
	assert.deepEqual(shown(body), expected(before));

	assert.equal((await victor.post(models, { action: 'train', goal })).status, 403);
	assert.equal((await olga.post(models, { action: 'train', goal: 'none' })).status, 400);
	await olga.whole(`${path}?goal=${goal}`);
	const started = await olga.post(models, { action: 'train', goal });
	assert.deepEqual([started.status, started.location], [303, `${path}?goal=${goal}&part=model`]);
	assert.match((await olga.post(models, { action: 'train', goal })).body, /being trained already/);
	const waiting = await victor.get(path);
	assert.equal(waiting.headers.refresh, '1');
	assert.match(waiting.body, /<progress aria-label="Training"/);
	const ended = await olga.whole(`${path}?goal=${goal}&part=model`);
	assert.match(ended.body, /asked for by operator@example\.com/);
	assert.match(ended.body, new RegExp(`Goal ${goal} of visitors`));
	const after = await list();
	assert.ok(after.length > before.length);
	assert.deepEqual(shown(ended.body), expected(after));

	const use = { action: 'use', goal, scope: 'vid' };
	await olga.post(models, { ...use, version: 'prior' });
	assert.equal(
		(await list()).some((model) => model.active && model.goal === goal && model.scope === 'vid'),
		false,
	);
	const first = before.find(({ active, scope }) => active && scope === 'vid') as ModelRow;
	assert.equal((await olga.post(models, { ...use, version: first.version })).status, 303);
	assert.ok(
		(await list()).some(
			({ version, scope, active, goal: of }) =>
				of === goal && scope === 'vid' && active && version === first.version,
		),
	);
	assert.equal((await olga.post(models, { ...use, version: '2020-01-01.1' })).status, 400);
	const actions = (await store.control.audit.list({ aid, limit: 20 })).map(({ action }) => action);
	assert.deepEqual(
		actions.filter((action) => /training|model/.test(action)),
		['refused: model use', 'model used', 'model used', 'training started', 'training started'],
	);

	await addAccount(store, 'c-a-empty');
	await directory.refresh();
	const ada = await person('admin', null);
	const empty = await ada.whole('/console/c-a-empty/scores');
	assert.match(empty.body, /Nobody can be scored for this goal yet/);
	const { body: noModel } = await ada.whole('/console/c-a-empty/scores?part=model');
	assert.match(noModel, /No models yet, so everybody gets the base rate/);
	assert.deepEqual(errors, []);
});

test('the page of scores says when the log has ended, and only then', async (t) => {
	const clock = { nowMs: logEndMs };
	const now = () => clock.nowMs;
	const store = await openStore(`sqlite:${temporaryFolder(t)}/data`, { now });
	t.after(() => store.close());
	const accountId = await addAccount(store, aid);
	await storeVisitors(store, accountId, madeUpVisitors(40));
	await foldAll(store, accountId);
	const { toMs } = await historyReader(store, await store.control.account(aid)).historyExtent(
		Number.POSITIVE_INFINITY,
	);
	const errors: unknown[] = [];
	const directory = await AccessDirectory.load(store.control, (error) => errors.push(error));
	t.after(() => directory.stop());
	const pageAt = async (nowMs: number) => {
		clock.nowMs = nowMs;
		// Each has figures of its own: those of a page are kept for a while.
		const console = createConsole({
			store,
			directory,
			consoleUrl,
			now,
			monotonicMs: () => performance.now(),
			onError: (error) => errors.push(error),
			parts,
			compute: computeAt(store, ({ account, query }) => runReport(store, account, query)),
		});
		t.after(() => console.stop());
		const made = await store.control.people.create(`${nowMs}@example.com`, [{ aid, role: 'viewer' }]);
		const browser = new Browser(console);
		await browser.open((await newLoginLink(store.control, made, consoleUrl)).link);
		const { status, body } = await browser.whole(`${path}?goal=${goal}`);
		assert.equal(status, 200);
		return body;
	};
	const early = await pageAt(Math.floor(toMs + dayMs / 2));
	assert.match(early, /Scores by band/);
	assert.doesNotMatch(early, /The log ended/);
	const late = await pageAt(toMs + 9 * dayMs + hourMs);
	const said = `The log ended 9 days ago, at ${isoTime(toMs)}: nothing is known about the time since`;
	assert.ok(late.includes(`<p class="warning">${said}`), /The log ended[^<]*/.exec(late)?.[0] ?? 'no line');
	assert.deepEqual(errors, []);
});
