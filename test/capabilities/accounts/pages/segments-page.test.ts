import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { countMatches } from '../../../../src/capabilities/accounts/count.ts';
import { ruleOutcomes } from '../../../../src/capabilities/training/rule-outcomes.ts';
import { dayMs, hourMs } from '../../../../src/core/durations.ts';
import { compileRule } from '../../../../src/core/segments/rule.ts';
import type { KnownAccount } from '../../../../src/core/store/control/control-store.ts';
import { foldAll } from '../../../../src/core/store/fold-all.ts';
import { consoleHere } from '../../../assembly/console/here.ts';
import {
	type Engine,
	enginesAboveContract,
	startWritingFor,
	subscriptionEvent,
	upload,
} from '../../../core/store/engines.ts';
import { hit } from '../../../core/store/made-hits.ts';
import type { Lasting } from '../../../support.ts';

const aid = 'c-a-one';
const analyst = [{ aid, role: 'analyst' } as const];
const path = `/console/${aid}/segments`;
const hostile = '<img src=x onerror=alert(1)> =cmd() \u202eهوية';
const query = (fields: Readonly<Record<string, string>>) => `${path}?${new URLSearchParams(fields)}`;

/**
 * Ten visitors, each with two visits: a pair of hits 40 days ago of one of them, all others within 30 days. Four came by
 * e-mail, of whom two bought after it and one before.
 */
async function withVisitors(t: Lasting, engine: Engine) {
	const here = await consoleHere(t, engine);
	const { store, clock } = here;
	const writer = await startWritingFor(t, store);
	const { id } = await store.control.account(aid);
	const key = await store.control.issueKey('acme', 'standard', { name: 'billing' });
	for (let number = 0; number < 10; number++) {
		const atMs = clock.now - (number === 9 ? 40 : 5) * dayMs + number * hourMs;
		const cid = `C-${number}`;
		const first = hit({ atMs }, { channel: 'direct', cid });
		const vid = first.freshVid;
		await writer.storeHit(id, first);
		const later = { vid, atMs: atMs + 2 * hourMs };
		await writer.storeHit(id, hit(later, { channel: number < 4 ? 'email' : 'direct', page: hostile }));
		// 0 and 1 buy after the e-mail, 2 before it, 4 without one.
		const boughtMs = atMs + (number === 2 ? 1 : 3) * hourMs;
		if ([0, 1, 2, 4].includes(number))
			await upload(writer, id, [subscriptionEvent({ tid: `T-${number}`, subid: `S-${number}`, cid })], {
				atMs: boughtMs,
				requestId: `r-${number}`,
				keyId: key.id,
			});
	}
	await foldAll(store, id);
	return { ...here, accountId: id, account: () => here.directory.account(aid) };
}

/** The texts of the cells of a row of a table. */
function rowOf(body: string, first: string): string[] {
	const row = body.split('<tr>').find((each) => each.includes(`>${first}<`)) ?? '';
	return [...row.matchAll(/<t[dh][^>]*>(.*?)<\/t[dh]>/gs)].map(
		([, cell]) => cell?.replaceAll(/<[^>]*>/g, '') ?? '',
	);
}

for (const engine of enginesAboveContract)
	suite(`segments in the console on ${engine.name}`, () => {
		test('who matched, now and lately, and who of them subscribed then, are counted and compared with all', async (t) => {
			const { person, store, account, accountId, errors, directory } = await withVisitors(t, engine);
			const rules = ['visitor.lastChannel == "email"', 'visitor.visits >= 1', 'visitor.subscriptions > 0'];
			const found = await ruleOutcomes(
				store,
				account() as KnownAccount,
				rules.map((rule) => compileRule(rule)),
			);
			assert.deepEqual(found, {
				all: 10,
				gatewayVisitors: 0,
				visitors: 10,
				base: { matching: 10, recent: 9, subscribed: 4 },
				rules: [
					{ matching: 4, recent: 4, subscribed: 2 },
					{ matching: 10, recent: 9, subscribed: 4 },
					// Who has bought before the second hit is a member then, and has not subscribed again.
					{ matching: 4, recent: 1, subscribed: 0 },
				],
			});
			for (const [place, rule] of rules.entries()) {
				// What `caskade segment test` counts.
				const { matching } = await countMatches(store, account() as KnownAccount, compileRule(rule));
				assert.equal(found.rules[place]?.matching, matching);
			}
			const ada = await person('ada@example.com', analyst);
			const { body } = await ada.whole(query({ rule: rules[0] as string, name: hostile, id: '' }));
			assert.doesNotMatch(body, /<img| style=|<script(?! type="module" src=)/);
			// 2 of 4 against 4 of 9.
			assert.deepEqual(rowOf(body, 'not saved').slice(2, 7), ['4', '4', '2', '50.0 %', '1.13 (0.34–1.91)']);
			assert.deepEqual(rowOf(body, 'All visitors').slice(2, 7), ['10', '9', '4', '44.4 %', '1']);
			await store.control.createSegment(accountId, {
				id: 'mailed',
				name: 'Mailed <img>',
				rule: rules[0] as string,
			});
			await directory.refresh();
			const { body: saved } = await ada.whole(path);
			assert.match(saved, /visitors\?segment=mailed">4</, 'members lead to them');
			const { body: members } = await ada.whole(`/console/${aid}/visitors?segment=mailed`);
			assert.match(members, /Who is in <bdi>the segment Mailed &#60;img/);
			assert.equal(members.match(/\/visitors\/[0-9a-f]{32}"/g)?.length, 4);
			assert.doesNotMatch(body, /id="id-problem"/, 'a preview takes no id');
			assert.match(body, /id="name-problem"[^>]*>It must be 1 to 100 characters/);
			assert.doesNotMatch(body, /value="save segment"/);
			assert.ok((body.match(/<\w/g) ?? []).length < 3000);
			assert.deepEqual(errors, []);
		});

		test('of many visitors a sample is counted', async (t) => {
			const { store, account } = await withVisitors(t, engine);
			const known = account() as KnownAccount;
			const { all, visitors, base } = await ruleOutcomes(store, known, [compileRule('true')], null, 6);
			assert.deepEqual([all, visitors, base.matching], [10, 6, 6]);
		});

		test('a rule that reads scores is given those of each moment', async (t) => {
			const { store, account } = await withVisitors(t, engine);
			const known = account() as KnownAccount;
			const rules = ['scores.subscription >= 0.0', 'scores.subscription > 1.0'];
			const found = await ruleOutcomes(
				store,
				known,
				rules.map((rule) => compileRule(rule)),
			);
			assert.deepEqual(
				found.rules.map(({ matching, recent }) => [matching, recent]),
				[
					[10, 9],
					[0, 0],
				],
			);
		});

		test('a segment is previewed, added, changed and deleted; what is wrong with a rule is told at its place', async (t) => {
			const { person, store, errors } = await consoleHere(t, engine);
			const ada = await person('ada@example.com', analyst);
			const empty = await ada.whole(path);
			assert.match(empty.body, /Nobody has visited yet/);
			assert.match(empty.body, /high-intent/);
			const wrong = { id: 'mine', name: hostile, rule: 'visitor.visits >= 3 &&\r\n visitor.vists < 2' };
			const { id } = await store.control.account(aid);
			const find = async () => (await store.control.segments(id)).find((one) => one.id === 'mine');
			for (const refused of [
				await ada.whole(query(wrong)),
				await ada.post(path, { action: 'save segment', ...wrong }),
			]) {
				assert.match(refused.body, /There is no fact of this name: vists \(line 2, column 10\)/);
				assert.match(refused.body, /aria-invalid="true" aria-describedby="rule-problem"/);
				assert.match(refused.body, /visitor\.visits &#62;= 3 &#38;&#38;\n visitor/, 'what was typed stays');
				assert.doesNotMatch(refused.body, /<img/);
				assert.doesNotMatch(refused.body, /value="save segment"/);
			}
			assert.match(
				(await ada.whole(query({ rule: 'bands.nosuch == "high"' }))).body,
				/no goal &#39;nosuch&#39;|no goal 'nosuch'/,
			);
			assert.equal(await find(), undefined);
			const right = {
				id: 'mine',
				name: '<img src=x> =cmd() هوية',
				rule: 'visitor.visits >= 3 &&\r\n visitor.visits < 9',
			};
			const tried = await ada.whole(query(right));
			assert.match(tried.body, /Save as mine/);
			assert.match(tried.body, /name="rule" value="visitor\.visits &#62;= 3 &#38;&#38;\n visitor/);
			assert.doesNotMatch(tried.body, /<img/);
			assert.equal(await find(), undefined, 'looking changes nothing');
			const saved = await ada.post(path, { action: 'save segment', ...right });
			assert.deepEqual([saved.status, saved.location], [303, `${path}?segment=mine`]);
			assert.deepEqual(await find(), { ...right, rule: 'visitor.visits >= 3 &&\n visitor.visits < 9' });
			assert.match((await ada.whole(`${path}?segment=mine`)).body, /Change mine/);
			await ada.post(path, { action: 'save segment', ...right, rule: 'true' });
			assert.equal((await find())?.rule, 'true');
			const unsure = await ada.post(path, { action: 'delete segment', id: 'mine', again: 'other' });
			assert.match(unsure.body, /write its id: mine/);
			await ada.post(path, { action: 'delete segment', id: 'mine', again: 'mine' });
			assert.equal(await find(), undefined);
			const actions = (await store.control.audit.list({ aid, limit: 20 })).map(({ action }) => action);
			assert.deepEqual(
				actions.filter((action) => action.startsWith('segment')),
				['segment deleted', 'segment updated', 'segment created'],
			);
			assert.deepEqual(errors, []);
		});
	});
