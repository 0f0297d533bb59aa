import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { RequestCounter } from '../../../../src/core/access/request-counter.ts';
import { dayMs, minuteMs } from '../../../../src/core/durations.ts';
import { isoTime } from '../../../../src/core/format/iso-time.ts';
import { seededRandom } from '../../../../src/kit/random.ts';
import { addAccount, type Engine, openAccountOn } from '../engines.ts';

/** Zones with their changes of the clock, by an hour and by half of one, and with offsets of 45 minutes and of 14 hours. */
const zones = {
	'Europe/London': '2026-10-25',
	'Australia/Adelaide': '2026-10-04',
	'Australia/Lord_Howe': '2026-04-05',
	'Asia/Kathmandu': '2026-10-04',
	'Pacific/Kiritimati': '2026-10-04',
	'America/St_Johns': '2026-11-01',
};
const causes = ['stored', 'conflict', 'invalid_request', 'rate_limit_exceeded'] as const;

/** By another way than the one of the pages. */
const dayIn = (zone: string) => {
	const format = new Intl.DateTimeFormat('en-CA', {
		timeZone: zone,
		year: 'numeric',
		month: '2-digit',
		day: '2-digit',
	});
	return (ms: number) => format.format(ms);
};

const daysFrom = (from: string, count: number) =>
	Array.from({ length: count }, (_, place) => isoTime(Date.parse(from) + place * dayMs).slice(0, 10));

const counted = (list: readonly { aid: string | null; day: string; cause: string; requests?: number }[]) => {
	const counts: Record<string, number> = {};
	for (const { aid, day, cause, requests = 1 } of list) {
		const name = `${day} ${aid === null ? 'nobody' : 'account'} ${cause}`;
		counts[name] = (counts[name] ?? 0) + requests;
	}
	return counts;
};

/** The contract of every engine for how uploads were answered. */
export function uploadAnswersContract(engine: Engine): void {
	suite(`answers to uploads on ${engine.name}`, () => {
		const start = async () => {
			const { store, writer, aid: other } = await openAccountOn(engine);
			const aid = `${other}-own`;
			await addAccount(store, aid, `client-of-${aid}`);
			const clientId = (await store.control.accessSnapshot()).accounts.get(aid)?.clientId ?? 0;
			const tell = async (answers: readonly { aid: string | null; cause: string; atMs: number }[]) => {
				const counter = new RequestCounter((counts) => writer.recordCounts(counts), assert.ifError);
				for (const { atMs, cause, ...of } of answers)
					counter.answerUpload({ ...of, clientId, cause, atMs }, () => ({
						requestId: `r-${atMs}`,
						keyId: 'k_1',
						detail: '',
					}));
				await counter.stop();
			};
			const { byDay } = store.control.uploadAnswers;
			const told = async (days: readonly string[], dayOf: (ms: number) => string) =>
				counted(await byDay(clientId, aid, days, (ms) => days.find((day) => day === dayOf(ms))));
			return { store, aid, clientId, tell, told };
		};

		for (const [zone, change] of Object.entries(zones))
			test(`every answer is on its day in ${zone}, about a change of the clock`, async () => {
				const { aid, tell, told } = await start();
				const random = seededRandom(zone.length);
				const fromMs = Date.parse(change) - 2 * dayMs;
				const answers = Array.from({ length: 400 }, () => ({
					atMs: fromMs + Math.floor(random() * 4 * dayMs),
					aid: random() < 0.2 ? null : aid,
					cause: causes[Math.floor(random() * causes.length)] as string,
				}));
				for (const part of [answers.slice(0, 150), answers.slice(150, 160), answers.slice(160)])
					await tell(part);
				const dayOf = dayIn(zone);
				const days = daysFrom(change, 2);
				assert.deepEqual(
					await told(days, dayOf),
					counted(
						answers
							.map((answer) => ({ ...answer, day: dayOf(answer.atMs) }))
							.filter(({ day }) => days.includes(day)),
					),
				);
			});

		test('after 35 days quarters of an hour become days of UTC, once, and after 400 they go', async () => {
			const { aid, tell, told } = await start();
			const firstMs = Date.parse('2025-01-10T11:59:00Z');
			const answersAt = (atMs: number) => [
				...Array.from({ length: 30 }, (_, place) => ({
					atMs: atMs + place * 97 * minuteMs,
					aid: place % 7 === 0 ? null : aid,
					cause: causes[place % causes.length] as string,
				})),
			];
			const all = [0, 36, 60, 61].flatMap((days) => answersAt(firstMs + days * dayMs));
			const days = daysFrom('2025-01-01', 100);
			// In one zone each is on its own day, in the other a part of them is on the day after, as long as that is known.
			const utc = (ms: number) => isoTime(ms).slice(0, 10);
			const late = (ms: number) => utc(ms + 14 * 60 * minuteMs);
			for (const [place, { atMs, ...of }] of all.entries()) {
				await tell([{ atMs, ...of }]);
				if (place % 29 !== 0) continue;
				const before = all.slice(0, place + 1);
				const names = before.map((answer) => ({ ...answer, day: utc(answer.atMs) }));
				assert.deepEqual(await told(days, utc), counted(names));
			}
			// What names nobody and the account have last been told of.
			const cutMs = Date.parse(utc(all.at(-1)?.atMs ?? 0)) - 35 * dayMs;
			const inLate = all.map((answer) => ({
				...answer,
				day: (answer.atMs < cutMs ? utc : late)(answer.atMs),
			}));
			assert.deepEqual(await told(days, late), counted(inLate));
			const later = (dayCount: number) => {
				const atMs = firstMs + dayCount * dayMs;
				return [null, aid].map((of) => ({ aid: of, cause: 'stored', atMs }));
			};
			// Servers that add up at the same time.
			await Promise.all(Array.from({ length: 4 }, () => tell(later(110))));
			const names = all.map((answer) => ({ ...answer, day: utc(answer.atMs) }));
			assert.deepEqual(await told(days, late), counted(names));
			await tell(later(461));
			const kept = Object.keys(await told(days, utc)).map((name) => name.slice(0, 10));
			assert.equal(kept.sort()[0], '2025-03-12');
		});
	});
}
