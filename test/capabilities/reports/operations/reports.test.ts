import assert from 'node:assert/strict';
import { test } from 'node:test';
import { some } from '../../../quick.ts';
import { allReports } from '../../../reports.ts';
import { openAccount } from '../../../shared-server.ts';
import { storeMailing } from '../made-up-mailing.ts';

test('a read key reads reports but cannot upload, and an upload key the reverse', async () => {
	const service = await openAccount();
	const { client, planName, aid, url, store } = service;
	const { key: readKey } = await store.control.issueKey(client, planName, { scope: 'read' });
	await service.directory.refresh();
	await service.hit({ url: 'https://shop.example/?utm_source=news&utm_medium=email' });
	const shown = {
		url: 'https://shop.example/checkout',
		referrer: 'https://shop.example/',
		events: [{ name: 'order', tid: 'A' }],
	};
	await service.hit({ ...(await service.hit(shown)), url: shown.url });
	const data = [
		{ tid: 'A', subid: 'S', evt: 'newsletter', rvn: 499 },
		{ tid: 'R', subid: 'S', evt: 'newsletter', rvn: 499 },
	];
	assert.equal((await service.upload({ aid, data })).status, 201);
	const get = (query: string, key = readKey) =>
		fetch(`${url}/reports/${query}`, { headers: { 'x-api-key': key } });

	const answer = await get(`attribution?aid=${aid}&model=all&basis=cohort`);
	assert.equal(answer.status, 200);
	assert.ok(answer.headers.get('x-request-id') && answer.headers.get('ratelimit'));
	const report = (await answer.json()) as { totals: unknown; rows: { channel: string }[]; basis: string };
	assert.deepEqual(report.totals, {
		trials: 0,
		subscriptions: 1,
		acquisitionPence: 499,
		renewalPence: 499,
		refundPence: 0,
		netPence: 998,
		visitors: 1,
		arrivals: 1,
	});
	assert.deepEqual(
		[report.rows.map(({ channel }) => channel), report.basis],
		[['(none)', 'email'], 'cohort'],
	);
	for (const { kind } of some(allReports, 4))
		assert.equal((await get(`${kind}?aid=${aid}`)).status, 200, kind);

	const forbidden = '{"message":"Forbidden","validationErrors":null}';
	const refused = [
		await get(`attribution?aid=${aid}`, service.key),
		await get(`attribution?aid=${aid}`, 'caskade_key_unknown'),
		await service.upload({ aid, data }, { 'x-api-key': readKey }),
		await fetch(`${url}/usage`, { headers: { 'x-api-key': readKey } }),
		await fetch(`${url}/reports/ltv?aid=${aid}`, {
			headers: { 'x-api-key': readKey, origin: 'https://x.test' },
		}),
	];
	for (const each of refused) assert.deepEqual([each.status, await each.text()], [403, forbidden]);

	const wrong = await get(`attribution?aid=${aid}&from=2026-02-30&by=page&model=best&lookbackDays=0&from=x`);
	assert.equal(wrong.status, 400);
	const { message, validationErrors } = (await wrong.json()) as Record<string, string>;
	assert.equal(message, 'Error reading report.');
	assert.match(
		validationErrors as string,
		/^from: .*; by: .*; model: .*; lookbackDays: It must be a whole number/,
	);
	const many = await get(
		`attribution?aid=${aid}&asOf=2126-01-01&segmnt=x&evt=&intervals=no&halfLifeDays=0&period=x&channel=a&channel=b`,
	);
	assert.equal(
		((await many.json()) as { validationErrors: string }).validationErrors,
		'asOf: It must be in the past.; segmnt: There is no such parameter.; evt: It must not be empty.; intervals: It must be 0 or 1.; ' +
			'halfLifeDays: It must be a number above 0 and at most 3650.; ' +
			'period: The report attribution does not use it.; channel: It must be given only once.',
	);
	assert.equal((await get(`spend?aid=${aid}&asOf=2020-01-31&halfLifeDays=0.5`)).status, 200);
	const segment = await get(`renewals?aid=${aid}&segment=subscriber&period=newsletter=30,gift=365`);
	assert.equal(segment.status, 200);
	assert.equal(((await segment.json()) as { segment: string }).segment, 'subscriber');
	const unknown = await get(`ltv?aid=${aid}&segment=none`);
	assert.match(await unknown.text(), /The account has no segment none;/);
	// PostgreSQL looks for no such text.
	const zero = await get(`ltv?aid=${aid}&segment=%00`);
	assert.equal(zero.status, 400);
	assert.match(await zero.text(), /segment: It must have no character of the code 0/);
	const period = await get(`renewals?aid=${aid}&period=newsletter`);
	assert.match(
		await period.text(),
		/period: It must be an event type and a number of days, such as newsletter=30, or never, such as lifetime=never\./,
	);
	const spend = await get(`spend?aid=${aid}&model=first,last`);
	assert.match(await spend.text(), /spend credits subscriptions by one model; name one\./);
	const zone = await get(`ltv?aid=${aid}&timezone=Mars/Base`);
	assert.deepEqual(await zone.json(), {
		message: 'Error reading report.',
		validationErrors: 'There is no time zone Mars/Base; write it like Europe/London.',
	});
	assert.equal(
		((await (await get('ltv')).json()) as { validationErrors: string }).validationErrors,
		'aid is required',
	);
	const others = await get('ltv?aid=c-a-other');
	assert.deepEqual(await others.json(), {
		message: 'No account c-a-other is available to this API key.',
		validationErrors: 'Invalid account',
	});
});

test('mail gateways are left out, and said, unless the address asks for them; other values are refused by name', async () => {
	const service = await openAccount();
	const { client, planName, aid, url, store } = service;
	const { key } = await store.control.issueKey(client, planName, { scope: 'read' });
	await service.directory.refresh();
	await storeMailing(store, (await store.control.account(aid)).id);
	const get = (query: string) => fetch(`${url}/reports/${query}`, { headers: { 'x-api-key': key } });
	const emailIn = async (query: string) => {
		const { rows, notes, gatewayVisitors } = (await (await get(`attribution?aid=${aid}${query}`)).json()) as {
			rows: { channel: string; visitors: number }[];
			notes?: string[];
			gatewayVisitors?: number;
		};
		const visitors = rows.find(({ channel }) => channel === 'email')?.visitors;
		return { visitors, gatewayVisitors, notes: String(notes) };
	};
	const { notes, ...people } = await emailIn('');
	assert.deepEqual(people, { visitors: 40, gatewayVisitors: 400 });
	assert.match(
		notes,
		/400 visitors are left out who are mail gateways: .* To count them, include gateways\./,
	);
	const { notes: _, ...all } = await emailIn('&include=gateways');
	assert.deepEqual(all, { visitors: 440, gatewayVisitors: undefined });
	for (const [query, sentence] of [
		['attribution?include=machines', 'include: It must be gateways.'],
		['attribution?include=', 'include: It must not be empty.'],
		['attribution?include=gateways&include=gateways', 'include: It must be given only once.'],
		['ltv?include=gateways', 'include: The report ltv does not use it.'],
	] as const) {
		const refused = await get(query.replace('?', `?aid=${aid}&`));
		assert.equal(refused.status, 400, query);
		assert.equal(((await refused.json()) as { validationErrors: string }).validationErrors, sentence);
	}
});
