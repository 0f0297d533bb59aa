import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { drawOf, personIn } from '../../../../src/capabilities/experiments/domain/draw.ts';
import type { GroupFigures } from '../../../../src/capabilities/experiments/reports/lift.ts';
import type { Experiment } from '../../../../src/capabilities/experiments/store/experiment.ts';
import type { ExperimentGroup } from '../../../../src/core/domain/experiment-group.ts';
import { dayMs, hourMs } from '../../../../src/core/durations.ts';
import type { Report } from '../../../../src/kit/reports/report.ts';
import { reportPage } from '../../../../src/kit/reports/report-page.ts';
import { reportCsv, reportText } from '../../../../src/kit/reports/report-table.ts';
import { enginesAboveContract, openAccountOn } from '../../../core/store/engines.ts';
import { body } from '../../../core/store/made-hits.ts';
import { reportOf } from '../../../reports.ts';
import { report } from '../../reports/filled.ts';
import {
	asOf,
	begin,
	fromMs,
	type Life,
	madeUp,
	paid,
	storeLives,
	toMs,
	vidOf,
	view,
} from '../../reports/made-up-experiment.ts';
import { trainedOnVisitors } from '../../training/made-up-profiles.ts';

type Groups = Readonly<Record<ExperimentGroup, GroupFigures>>;
const groupsOf = (made: Report) => made.groups as Groups;

/** The same figures, from the made-up visitors and nothing else. */
function byHand(lives: readonly Life[], experiment: Experiment, atMs: number) {
	const none = () => ({
		visitors: 0,
		waiting: 0,
		conversions: 0,
		acquisitionPence: 0,
		renewalPence: 0,
		refundPence: 0,
		netPence: 0,
	});
	const groups = { treated: none(), holdout: none() };
	for (const { vid, hits, events } of lives) {
		const views = hits.filter((hit) => hit.body.events.some(({ name }) => name === 'plans-viewed'));
		const entry = hits.find(
			(hit) =>
				hit.atMs >= experiment.fromMs &&
				hit.atMs < Math.min(toMs, atMs + 1) &&
				views.filter((viewed) => viewed.atMs <= hit.atMs).length >= 2,
		);
		// A payment that becomes known while the rule is fulfilled is an entry, too.
		const uploads = events.map(({ receivedAtMs }) => receivedAtMs);
		const upload = uploads.find(
			(ms) =>
				ms >= experiment.fromMs &&
				ms < Math.min(toMs, atMs + 1) &&
				views.filter((viewed) => viewed.atMs <= ms).length >= 2,
		);
		const enteredMs = Math.min(entry?.atMs ?? Number.POSITIVE_INFINITY, upload ?? Number.POSITIVE_INFINITY);
		if (!Number.isFinite(enteredMs)) continue;
		const group = groups[drawOf(experiment, vid).group];
		if (enteredMs + 7 * dayMs > atMs) {
			group.waiting++;
			continue;
		}
		group.visitors++;
		const known = events.filter(({ receivedAtMs }) => receivedAtMs <= atMs);
		const bought = hits.find((hit) => hit.body.events.some(({ tid }) => tid !== undefined));
		const isSold = known.some(({ rvn, tid, subid }) => rvn >= 0 && tid === subid);
		if (bought && isSold && bought.atMs > enteredMs && bought.atMs <= enteredMs + 7 * dayMs)
			group.conversions++;
		for (const { tid, subid, rvn, receivedAtMs } of known) {
			if (receivedAtMs <= enteredMs) continue;
			group[rvn < 0 ? 'refundPence' : tid === subid ? 'acquisitionPence' : 'renewalPence'] += rvn;
			group.netPence += rvn;
		}
	}
	return groups;
}

for (const engine of enginesAboveContract)
	describe(`lift, on ${engine.name}`, () => {
		test('is exact to the penny against the events, now and as of earlier', async () => {
			const { store: opened, accountId } = await openAccountOn(engine);
			const lives = madeUp(900);
			await storeLives(opened, accountId, lives);
			const experiment = await begin(opened, accountId);
			for (const atMs of [asOf, fromMs + 20 * dayMs, fromMs + 3 * dayMs]) {
				const made = await report(opened, accountId, 'lift', { asOf: atMs, experiment: 'offer' });
				const expected = byHand(lives, experiment, atMs);
				for (const group of ['treated', 'holdout'] as const) {
					const { conversionRate, netPerVisitorPence, read, ...counts } = groupsOf(made)[group];
					assert.deepEqual(counts, expected[group], `${group} at ${new Date(atMs).toISOString()}`);
					assert.equal(read, null, 'reads are known as of now only');
				}
			}
			const made = await report(opened, accountId, 'lift', { asOf });
			assert.deepEqual(
				[made.experiment, made.goal, made.from, made.to, made.warnings],
				['offer', 'subscription', '2026-09-01', '2026-10-11', []],
			);
			const all = made.rows as unknown as {
				part: string;
				treatedVisitors: number;
				holdoutVisitors: number;
			}[];
			const { treated, holdout } = groupsOf(made);
			for (const part of ['all', 'channel', 'device']) {
				const own = all.filter((row) => row.part === part);
				const sum = (of: 'treatedVisitors' | 'holdoutVisitors') => own.reduce((n, row) => n + row[of], 0);
				assert.deepEqual(
					[sum('treatedVisitors'), sum('holdoutVisitors')],
					[treated.visitors, holdout.visitors],
					part,
				);
			}
			const { conversionRate } = made.lift as { conversionRate: Record<string, number> };
			const {
				difference = 0,
				unadjusted = 0,
				low = 0,
				high = 0,
				anytimeLow = 0,
				anytimeHigh = 0,
			} = conversionRate;
			assert.ok(anytimeLow < low && low < difference && difference < high && high < anytimeHigh);
			assert.equal(difference, unadjusted, 'without a score, nothing is adjusted');
			assert.ok(
				Math.abs(
					unadjusted - (treated.conversions / treated.visitors - holdout.conversions / holdout.visitors),
				) < 1e-6,
			);
		});

		test('a customer id makes visitors one where it was known before the experiment, else they are left out if several entered', async () => {
			const { store: opened, accountId } = await openAccountOn(engine);
			const experiment = await begin(opened, accountId);
			const [phone, laptop, late, latePhone, alone] = [1, 2, 3, 4, 5].map(vidOf) as [
				string,
				string,
				string,
				string,
				string,
			];
			const cid = (vid: string, day: number, name: string) => ({
				vid,
				sid: null,
				atMs: fromMs + day * dayMs,
				body: body({ cid: name }),
			});
			const twice = (vid: string, day: number) => [
				view(vid, fromMs + day * dayMs),
				view(vid, fromMs + day * dayMs + hourMs),
			];
			const lives = [
				{ vid: phone, hits: [cid(phone, -2, 'c-1'), ...twice(phone, 3)], events: [] },
				// Shown before the experiment, and it is the laptop that buys.
				{
					vid: laptop,
					hits: [
						cid(laptop, -1, 'c-1'),
						{
							vid: laptop,
							sid: null,
							atMs: fromMs + 5 * dayMs,
							body: body({ events: [{ name: 'order', tid: 'T-1' }] }),
						},
					],
					events: [paid('T-1', 'T-1', fromMs + 5 * dayMs + hourMs, 700)],
				},
				{ vid: latePhone, hits: [cid(latePhone, 1, 'c-2'), ...twice(latePhone, 5)], events: [] },
				{ vid: late, hits: [...twice(late, 2), cid(late, 4, 'c-2')], events: [] },
				{ vid: alone, hits: [...twice(alone, 2), cid(alone, 4, 'c-3')], events: [] },
			];
			await storeLives(opened, accountId, lives);
			const made = await report(opened, accountId, 'lift', { asOf });
			assert.equal(made.leftOut, 1);
			const { treated, holdout } = groupsOf(made);
			assert.equal(treated.visitors + holdout.visitors, 2, 'the phone with the laptop, and the one alone');
			const customer = { cid: 'c-1', atMs: fromMs - 2 * dayMs };
			const ada = personIn(experiment, { vid: phone, customer });
			assert.equal(personIn(experiment, { vid: laptop, customer }), ada);
			const buyer = groupsOf(made)[drawOf(experiment, ada).group];
			assert.deepEqual([buyer.conversions, buyer.netPence], [1, 700]);
			assert.match(made.notes?.join('\n') ?? '', /Left out: 1 customer /);
			assert.equal(made.leftOutConversions, 0);
			assert.doesNotMatch(made.warnings?.join('\n') ?? '', /left out/);
		});

		test('it is a warning if those who are left out are a tenth of all who reached the goal', async () => {
			const { store: opened, accountId } = await openAccountOn(engine);
			await begin(opened, accountId);
			// Each is drawn for itself, because the customer was not known before.
			const [phone, laptop] = [vidOf(1), vidOf(2)];
			const bought = (vid: string, tid: string) => ({
				hits: [
					view(vid, fromMs + 2 * dayMs),
					view(vid, fromMs + 2 * dayMs + hourMs),
					{
						...view(vid, fromMs + 3 * dayMs),
						body: body({ cid: `c-${tid}`, events: [{ name: 'order', tid }] }),
					},
				],
				events: [paid(tid, tid, fromMs + 3 * dayMs + hourMs, 500)],
			});
			const lives = [
				{ vid: phone, ...bought(phone, 'T-1') },
				{
					vid: laptop,
					hits: [
						view(laptop, fromMs + 4 * dayMs),
						view(laptop, fromMs + 4 * dayMs + hourMs),
						{ ...view(laptop, fromMs + 5 * dayMs), body: body({ cid: 'c-T-1' }) },
					],
					events: [],
				},
				...Array.from({ length: 8 }, (_, number) => {
					const vid = vidOf(10 + number);
					return { vid, ...bought(vid, `T-${number + 2}`) };
				}),
			];
			await storeLives(opened, accountId, lives);
			const made = await report(opened, accountId, 'lift', { asOf });
			assert.deepEqual([made.leftOut, made.leftOutConversions], [1, 1]);
			assert.match(
				made.warnings?.join('\n') ?? '',
				/^1 of the 9 who reached the goal are left out: a customer who /m,
			);
		});

		test('visitors who are lost from one group are told before anything else', async () => {
			const { store: opened, accountId } = await openAccountOn(engine);
			const experiment = await begin(opened, accountId);
			const lives = madeUp(400);
			const isHeldOut = ({ vid }: Life) => drawOf(experiment, vid).group === 'holdout';
			await storeLives(
				opened,
				accountId,
				lives.filter((life, number) => !isHeldOut(life) || number % 4 === 0),
			);
			const { warnings } = await report(opened, accountId, 'lift', { asOf });
			assert.match(warnings?.[0] ?? '', /^Do not trust this\. .* instead of 50 %/);
		});
	});

for (const engine of enginesAboveContract)
	describe(`what the report on lift says, on ${engine.name}`, () => {
		test('the score at entry is that of a model from before the experiment', async () => {
			const { store: opened, accountId } = await openAccountOn(engine);
			await storeLives(opened, accountId, madeUp(900));
			await begin(opened, accountId);
			const { model, report: trained } = trainedOnVisitors('logistic');
			const insert = async (asOfMs: number) =>
				opened.control.insertModel(accountId, {
					...({ goal: 'subscription', scope: 'vid', body: JSON.stringify(model) } as const),
					report: JSON.stringify({ ...trained, asOf: new Date(asOfMs).toISOString() }),
				});
			await insert(fromMs + dayMs);
			const without = await report(opened, accountId, 'lift', { asOf });
			assert.equal(without.scoredBy, null);
			assert.match(without.notes?.join('\n') ?? '', /No model is older than the experiment/);
			const { version } = await insert(fromMs - dayMs);
			const made = await report(opened, accountId, 'lift', { asOf });
			assert.equal(made.scoredBy, version);
			assert.deepEqual(groupsOf(made), groupsOf(without));
			const rate = (of: Report) => (of.lift as { conversionRate: Record<string, number> }).conversionRate;
			assert.equal(rate(without).varianceReduction, 0);
			assert.ok((rate(made).varianceReduction as number) >= 0);
			assert.notEqual(rate(made).difference, rate(made).unadjusted);
			assert.equal(rate(made).unadjusted, rate(without).unadjusted);
			assert.match(made.notes?.join('\n') ?? '', /equally short intervals would take [\d.]+ weeks? more/);
		});

		test('text, CSV and page tell the same; few visitors have no interval, and an unknown name is refused', async () => {
			const { store: opened, accountId } = await openAccountOn(engine);
			const definition = reportOf('lift');
			const empty = await report(opened, accountId, 'lift', { asOf });
			assert.deepEqual([empty.rows, empty.experiment], [[], null]);
			assert.match(empty.warnings?.[0] ?? '', /no experiment/);
			assert.match(reportText(definition, empty), /Nothing to report/);
			const lives = madeUp(900);
			await begin(opened, accountId);
			await storeLives(opened, accountId, []);
			const late = await report(opened, accountId, 'lift', { asOf });
			assert.match(
				late.warnings?.join('\n') ?? '',
				/The log of hits begins on 2026-10-15, after the experiment\./,
			);
			const early = await report(opened, accountId, 'lift', { asOf: fromMs - dayMs });
			assert.match(early.answer ?? '', /^\w+ begins on 2026-/);
			await storeLives(opened, accountId, lives.slice(0, 60));
			const few = await report(opened, accountId, 'lift', { asOf, experiment: 'offer' });
			assert.match(reportText(definition, few), /too few visitors for an interval/);
			assert.ok(!reportPage(definition, few).includes('<path class="interval"'));
			await storeLives(opened, accountId, lives.slice(60));
			const made = await report(opened, accountId, 'lift', { asOf, experiment: 'offer' });
			const text = reportText(definition, made);
			for (const title of ['Groups', 'Conversion rate: treated', 'Net per visitor', 'Exploration'])
				assert.ok(text.includes(title), title);
			assert.equal(reportCsv(definition, made).split('\r\n').length, made.rows.length + 2);
			assert.ok(reportPage(definition, made).includes('<path class="interval"'));
			await assert.rejects(
				report(opened, accountId, 'lift', { experiment: 'other' }),
				/There is no experiment other; the account has offer\./,
			);
		});
	});
