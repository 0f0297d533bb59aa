import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { storeHistory } from '../../../src/capabilities/history/store/past-history.ts';
import { hourMs, minuteMs } from '../../../src/core/durations.ts';
import { foldAll } from '../../../src/core/store/fold-all.ts';
import { consoleHere } from '../../assembly/console/here.ts';
import { readers, sales, scanners, sentMs } from '../../capabilities/reports/made-up-mailing.ts';
import { type Engine, enginesAboveContract } from '../../core/store/engines.ts';
import type { Lasting } from '../../support.ts';

const aid = 'c-a-one';
const path = `/console/${aid}`;
const leftOut = /(\d+) visitors are left out who are mail gateways/;

/** An analyst's browser, sixteen hours after a mailing that gateways opened, too. */
async function afterMailing(t: Lasting, engine: Engine) {
	const here = await consoleHere(t, engine, { makesReports: true });
	const { store, clock, directory } = here;
	const { id } = await store.control.account(aid);
	const rule = 'visitor.lastChannel == "email" || visitor.pages >= 2';
	await store.control.createSegment(id, { id: 'by-mail', name: 'By mail', rule });
	await directory.refresh();
	const laterMs = clock.now - 16 * hourMs - sentMs;
	await store.transact(id, () =>
		storeHistory(
			[...readers, ...scanners].map((one) => ({ ...one, atMs: one.atMs + laterMs })),
			sales.map((sale) => ({ ...sale, receivedAtMs: clock.now - minuteMs })),
		),
	);
	await foldAll(store, id);
	const ada = await here.person('ada@example.com', [{ aid, role: 'analyst' }]);
	return { ada, errors: here.errors };
}

/** The cells of the first row that has a text among the first two. */
function cellsOf(body: string, text: string): string[] {
	const rows = body
		.split('<tr>')
		.map((row) =>
			[...row.matchAll(/<t[dh][^>]*>(.*?)<\/t[dh]>/gs)].map(
				([, cell]) => cell?.replaceAll(/<[^>]*>/g, '') ?? '',
			),
		);
	return rows.find((cells) => cells.slice(0, 2).includes(text)) ?? [];
}

for (const engine of enginesAboveContract)
	suite(`mail gateways in the console on ${engine.name}`, () => {
		test('pages of figures leave them out and say how many; the filter counts them', async (t) => {
			const { ada, errors } = await afterMailing(t, engine);
			const { body } = await ada.whole(`${path}/attribution`);
			assert.match(
				body,
				/<label>Mail gateways <select name="include"><option value="">left out<\/option><option value="gateways">counted<\/option><\/select>/,
			);
			assert.equal(leftOut.exec(body)?.[1], '400');
			assert.equal(cellsOf(body, 'email')[1], '40');
			const { body: all } = await ada.whole(`${path}/attribution?include=gateways`);
			assert.match(all, /<option value="gateways" selected>counted/);
			assert.doesNotMatch(all, leftOut);
			assert.equal(cellsOf(all, 'email')[1], '440');
			assert.match(all, /visitors\?[^"]*include=gateways/, 'rows behind a figure are those of the figure');
			assert.deepEqual(errors, []);
		});

		test('segments, scores and lists of visitors leave them out, with a link that counts them', async (t) => {
			const { ada, errors } = await afterMailing(t, engine);
			const pages: readonly [
				page: string,
				people: (body: string) => unknown,
				all: (body: string) => unknown,
			][] = [
				[
					`${path}/segments`,
					(body) => assert.equal(cellsOf(body, 'By mail')[2], '40'),
					(body) => assert.equal(cellsOf(body, 'By mail')[2], '440'),
				],
				[
					`${path}/scores?goal=subscription`,
					(body) => assert.match(body, />40<\/a>/),
					(body) => assert.match(body, />440<\/a>/),
				],
				...['visitors', 'visitors?segment=by-mail', 'visitors?period=7&channel=email'].map(
					(list): [string, (body: string) => unknown, (body: string) => unknown] => [
						`${path}/${list}`,
						(body) => assert.deepEqual(listed(body), { readers: 40, gateways: 0 }),
						(body) => assert.ok(listed(body).gateways > 0),
					],
				),
			];
			for (const [address, ofPeople, ofAll] of pages) {
				const { body } = await ada.whole(address);
				ofPeople(body);
				assert.equal(leftOut.exec(body)?.[1], '400', address);
				const [, link = ''] = /href="([^"]*)">Count them/.exec(body) ?? [];
				const { body: all } = await ada.whole(link.replaceAll('&#38;', '&').replaceAll('&amp;', '&'));
				ofAll(all);
				assert.doesNotMatch(all, leftOut, address);
				assert.match(all, /Mail gateways are counted\. <a href="[^"]*">Leave them out/, address);
			}
			assert.match((await ada.get(`${path}/visitors/${scanners[0]?.vid}`)).body, /This is a mail gateway/);
			assert.doesNotMatch(
				(await ada.get(`${path}/visitors/${readers[0]?.vid}`)).body,
				/This is a mail gateway/,
			);
			assert.deepEqual(errors, []);
		});

		test('another value is refused by name', async (t) => {
			const { ada } = await afterMailing(t, engine);
			for (const page of ['attribution', 'segments', 'scores', 'visitors']) {
				const { status, body } = await ada.get(`${path}/${page}?include=machines`);
				assert.equal(status, 400, page);
				assert.match(body, /include: It must be gateways\./, page);
			}
		});
	});

function listed(body: string) {
	const vids = [...body.matchAll(/\/visitors\/([0-9a-f]{32})"/g)].map(([, vid]) => vid ?? '');
	const countOf = (first: string) => vids.filter((vid) => vid.startsWith(first)).length;
	return { readers: countOf('a'), gateways: countOf('b') };
}
