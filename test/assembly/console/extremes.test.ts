import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HistoryEvent, storeHistory } from '../../../src/capabilities/history/store/past-history.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { foldAll } from '../../../src/core/store/fold-all.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';
import { saveSpending } from '../../../src/kit/reading/spending.ts';
import { engines, enginesAboveContract } from '../../core/store/engines.ts';
import { body } from '../../core/store/made-hits.ts';
import { takesLong } from '../../quick.ts';
import { allReports } from '../../reports.ts';
import type { Browser } from './browser.ts';
import { consoleHere } from './here.ts';
import { addressesOf, faultsOf } from './markup.ts';

const aid = 'c-a-one';
const email = 'ada@example.com';
const maxElements = 3000;

/** What anybody may send as a name. Each begins with a mark of its own, by which it is found. */
const hostileNames = [
	'<img src=x onerror=alert(1)>',
	'"><script>alert(2)</script>',
	"' onmouseover='alert(3)",
	'=cmd()|calc!A1',
	'@SUM(1+1)*cmd',
	'\u202egnp.exe\u202c هوية שלום',
	'x'.repeat(240),
	'👩‍👩‍👧‍👦🏳️‍🌈'.repeat(8),
	'javascript:alert(4)',
	'&lt;b&gt; &amp; {{7*7}}',
	'\t-2+3',
] as const;

/** Whatever markup a name brings, pages have none of it. */
const brokenOut = /<img|<script>alert|onmouseover='|href="javascript:|<b>/;

/** A visitor for each channel and campaign, every third of whom subscribes and renews, in the last months. */
async function addVisitors(
	store: OpenStore,
	accountId: number,
	nowMs: number,
	visits: readonly { channel: string; campaign: string; name: string }[],
): Promise<void> {
	const id = (number: number) => number.toString(16).padStart(32, '0');
	const hits = visits.map(({ channel, campaign, name }, number) => {
		const url = `https://shop.example/?utm_source=${encodeURIComponent(name)}&utm_campaign=${encodeURIComponent(campaign)}`;
		return {
			vid: id(number),
			sid: null,
			atMs: nowMs - 60 * dayMs + Math.floor((number * 50 * dayMs) / visits.length),
			body: body({
				channel,
				url,
				page: name,
				events: [{ name, tid: `${name} ${number}` }],
				cid: `${name} ${number}`,
			}),
		};
	});
	const events = visits.flatMap(({ name }, number): HistoryEvent[] =>
		number % 3 > 0
			? []
			: [0, 30].map((days) => ({
					tid: days === 0 ? `${name} ${number}` : `${name} ${number} again`,
					subid: `${name} ${number}`,
					cid: `${name} ${number}`,
					evt: name,
					rvn: 499,
					receivedAtMs: (hits[number]?.atMs ?? 0) + days * dayMs + 1000,
				})),
	);
	for (let from = 0; from < hits.length; from += 500)
		await store.transact(accountId, () => storeHistory(hits.slice(from, from + 500), []));
	for (let from = 0; from < events.length; from += 500)
		await store.transact(accountId, () => storeHistory([], events.slice(from, from + 500)));
	await foldAll(store, accountId);
}

/** Looks at every page of the account, and at every CSV. @returns what is wrong */
async function look(browser: Browser, parts: Readonly<Record<string, string>>): Promise<string[]> {
	const faults: string[] = [];
	const more = [
		'/attribution?by=campaign',
		'/attribution?by=channel,campaign',
		'/attribution?by=landing',
		'/subscriptions?period=all',
		'/visitors?period=all',
		'/?period=all',
		'/revenue?period=all',
		'/retention?period=all',
		`/visitors?find=${encodeURIComponent(parts.tid ?? '')}`,
		`/?channel=${encodeURIComponent(parts.channel ?? 'email')}`,
		'/?period=last-month',
		'/attribution?with=first',
	].map((path) => `/console/${aid}${path}`);
	for (const address of [...addressesOf(aid, parts), ...more]) {
		const { status, body: shown } = await browser.whole(address);
		const what = address.slice(0, 80);
		// What a part of the address names that is not given.
		const isUnknown = /\/(visitors|customers|events)\/x(\/|$)/.test(address);
		if (status !== (isUnknown ? 404 : 200)) faults.push(`${what}: ${status}`);
		const elements = (shown.match(/<\w/g) ?? []).length;
		if (elements > maxElements) faults.push(`${what}: ${elements} elements`);
		const [broken] = brokenOut.exec(shown) ?? [];
		if (broken) faults.push(`${what}: ${broken} has broken out`);
		if (/[\u202a-\u202e\u2066-\u2069\u200e\u200f]/.test(shown))
			faults.push(`${what}: it turns the direction`);
		if (shown.startsWith('<')) for (const fault of await faultsOf(shown)) faults.push(`${what}: ${fault}`);
	}
	for (const { kind, isOfPersons } of allReports) {
		const folder = isOfPersons ? kind : 'reports';
		const { status, body: csv } = await browser.get(
			`/console/${aid}/${folder}/${kind}.csv?period=all${kind === 'threshold' ? '&goal=subscription' : ''}`,
		);
		// A threshold takes a model.
		if (status !== 200 && kind !== 'threshold') faults.push(`${kind}.csv: ${status}`);
		for (const cell of cellsOf(csv))
			if (status === 200 && /^[=@\t\r]|^[+-](?![\d.]+$)/.test(cell))
				faults.push(`${kind}.csv: formula ${cell}`);
	}
	return [...new Set(faults)];
}

/** The cells of a CSV, without their quotation marks. */
function cellsOf(csv: string): string[] {
	return [...csv.matchAll(/("(?:[^"]|"")*"|[^,\r\n]*)(?:,|\r?\n|$)/g)].map(([, cell = '']) =>
		cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell,
	);
}

for (const engine of enginesAboveContract)
	test(`every page of an empty account is sound and says what to do, on ${engine.name}`, async (t) => {
		const { person, errors } = await consoleHere(t, engine, { makesReports: true });
		const browser = await person(email, [{ aid: null, role: 'admin' }]);
		assert.deepEqual(await look(browser, { email }), []);
		for (const page of [
			'',
			'attribution',
			'journeys',
			'revenue',
			'retention',
			'subscriptions',
			'visitors',
			'uploads',
		])
			assert.match((await browser.whole(`/console/${aid}/${page}`)).body, /class="(empty|warning)"/, page);
		assert.deepEqual(errors, []);
	});

for (const engine of enginesAboveContract)
	test(`names that anybody may send break nothing on any page or in any CSV, on ${engine.name}`, async (t) => {
		const { person, store, clock, errors, directory } = await consoleHere(t, engine, { makesReports: true });
		const { id, client } = await store.control.account(aid);
		const visits = Array.from({ length: 120 }, (_, number) => {
			const name = hostileNames[number % hostileNames.length] as string;
			return { channel: name, campaign: name, name };
		});
		await addVisitors(store, id, clock.now, visits);
		const [first] = hostileNames;
		await store.transact(id, () =>
			saveSpending(
				hostileNames.map((name) => ({ day: '2026-10-01', channel: name, campaign: name, pence: 100 })),
			),
		);
		await store.control.createSegment(id, {
			id: 'hostile',
			name: first,
			rule: `"${'x'.repeat(240)}" in visitor.pages7d`,
		});
		await store.control.issueKey(client, 'standard', { name: first });
		await store.control.notes.add(id, first, { day: '2026-11-01', who: email });
		await store.control.views.save(id, null, {
			name: first,
			page: '',
			query: `channel=${encodeURIComponent(first)}`,
		});
		await directory.refresh();
		const browser = await person(email, [{ aid: null, role: 'admin' }]);
		const parts = { email, vid: '0'.repeat(32), tid: `${first} 0`, channel: first };
		assert.deepEqual(await look(browser, parts), []);
		const { body: shown } = await browser.whole(`/console/${aid}/attribution?period=all`);
		assert.match(shown, /&#60;img src=x/, 'the names are there');
		assert.deepEqual(errors, []);
	});

test('every page is useful with 500 channels and 10,000 campaigns', { skip: takesLong }, async (t) => {
	const here = await consoleHere(t, engines[0] as (typeof engines)[number], { makesReports: true });
	const { person, store, clock, errors } = here;
	const { id } = await store.control.account(aid);
	const visits = Array.from({ length: 10_000 }, (_, number) => ({
		channel: `channel ${number % 500}`,
		campaign: `campaign ${number}`,
		name: `name ${number % 2000}`,
	}));
	await addVisitors(store, id, clock.now, visits);
	const browser = await person(email, [{ aid: null, role: 'admin' }]);
	assert.deepEqual(
		await look(browser, { email, vid: '0'.repeat(32), tid: 'name 0 0', channel: 'channel 3' }),
		[],
	);
	assert.deepEqual(errors, []);
});
