import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openStore } from '../src/assembly/open-store.ts';
import { type LogEntry, profileOf } from '../src/core/domain/profile.ts';
import type { HitRecord } from '../src/core/domain/stored-hit.ts';
import { hitEntry } from '../src/core/domain/stored-hit.ts';
import { subscriptionEntry } from '../src/core/domain/subscription-event.ts';
import { dayMs, hourMs } from '../src/core/durations.ts';
import { storedTouch } from '../src/core/store/account/profiles/touches.ts';
import { seededRandom } from '../src/kit/random.ts';
import { aidOf } from './upload-bodies.ts';

/** An account as large as the console promises to be quick with. */
export const largeAccount = { visitors: 1_000_000, hits: 3_500_000, events: 300_000 };
export const aid = aidOf(1);

const days = 365;
const sources = [
	...[...Array(3).fill(['direct', null, ''])],
	...[...Array(3).fill(['organic', 'https://www.google.com/', ''])],
	...[
		...Array(2).fill(['paid', 'https://www.google.com/', 'utm_source=google&utm_medium=cpc&utm_campaign=']),
	],
	...[['email', null, 'utm_source=newsletter&utm_medium=email&utm_campaign=']],
	...[['social', 'https://www.facebook.com/', '']],
	...[['referral', 'https://news.example/', '']],
	...[['affiliate', 'https://deals.example/', 'utm_source=deals&utm_medium=affiliate&utm_campaign=']],
] as [string, string | null, string][];

interface Made {
	readonly entries: LogEntry[];
	readonly visits: Map<string, LogEntry[]>;
}

/**
 * Inserts rows directly: a million visitors would take an hour through the service. Visits are 1.7 for each visitor, of two hits;
 * one in twelve visitors subscribes and renews each month. Profiles, touches and visits follow from the log.
 */
export async function fillAccount(folder: string, visitors: number, nowMs: number): Promise<void> {
	const store = await openStore(`sqlite:${folder}`);
	try {
		if ((await store.control.accounts()).length > 0) return;
		const { id } = await store.control.createAccount({ aid, client: 'bench', origins: [] }, (accountId) =>
			store.createAccountDatabase(accountId),
		);
		fillFile(join(folder, 'accounts', `${id}.sqlite`), visitors, nowMs);
	} finally {
		await store.close();
	}
}

function fillFile(path: string, visitors: number, nowMs: number): void {
	const database = new DatabaseSync(path);
	database.exec(
		'PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -1048576; BEGIN',
	);
	const indexes = database
		.prepare(
			"SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name IN ('hit', 'touch', 'subscription_event', 'claim') AND sql IS NOT NULL",
		)
		.all();
	database.exec(indexes.map(({ name }) => `DROP INDEX ${name};`).join(''));
	database.exec(
		'CREATE TEMP TABLE made_hit (vid, sid, at, body); CREATE TEMP TABLE made_event (tid, subid, evt, rvn, at, vid, named)',
	);
	const hit = database.prepare('INSERT INTO made_hit VALUES (?, ?, ?, ?)');
	const event = database.prepare('INSERT INTO made_event VALUES (?, ?, ?, ?, ?, ?, ?)');
	const visitor = database.prepare('INSERT INTO visitor (vid, profile) VALUES (?, ?)');
	const visit = database.prepare('INSERT INTO visit (sid, vid, profile) VALUES (?, ?, ?)');
	const touch = database.prepare('INSERT OR IGNORE INTO touch (vid, at, origin) VALUES (?, ?, ?)');
	const claim = database.prepare('INSERT OR IGNORE INTO claim (key, at, vid) VALUES (?, ?, ?)');
	const random = seededRandom(7);
	const hex = (length: number) =>
		Math.floor(random() * 16 ** length)
			.toString(16)
			.padStart(length, '0');
	for (let number = 0; number < visitors; number++) {
		const start = Math.floor((number * 2 ** 32) / visitors);
		const vid = start.toString(16).padStart(8, '0') + hex(8) + hex(8) + hex(8);
		const made: Made = { entries: [], visits: new Map() };
		// A growing shop: more of its visitors came lately.
		let atMs = Math.floor(nowMs - days * dayMs * (1 - Math.sqrt(random())));
		let firstMs = atMs;
		while (atMs < nowMs) {
			const sid = vid.slice(0, 4) + hex(7) + hex(7) + hex(7) + hex(7);
			const [channel, referrer, campaign] = sources[
				Math.floor(random() * sources.length)
			] as (typeof sources)[0];
			const entries: LogEntry[] = [];
			made.visits.set(sid, entries);
			do {
				const page = `articles/page-${Math.floor(random() ** 3 * 200)}`;
				const isFirst = entries.length === 0;
				const query = isFirst && campaign !== '' ? `?${campaign}c${Math.floor(random() ** 2 * 40)}` : '';
				const body: HitRecord = {
					page,
					url: `https://shop.example/${page}${query}`,
					title: `The page ${page}`,
					events: [],
					cid: null,
					referrer: isFirst ? referrer : null,
					channel: isFirst ? channel : 'internal',
					device: 'mobile',
				};
				const text = JSON.stringify(body);
				const entry = hitEntry({ sid, atMs, body, text });
				entries.push(entry);
				made.entries.push(entry);
				hit.run(vid, sid, atMs, text);
				for (const { origin } of storedTouch({ vid, atMs, body }, isFirst)) touch.run(vid, atMs, origin);
				atMs += 5000 + Math.floor(random() * 180_000);
			} while (random() < 0.53 && atMs < nowMs);
			visit.run(sid, vid, JSON.stringify(profileOf(entries)));
			if (random() > 0.42) break;
			atMs += Math.floor((0.2 + random() * 20) * dayMs);
		}
		if (number % 12 === 0 && atMs < nowMs) {
			const subid = `sub-${number}`;
			firstMs = atMs + Math.floor(random() * hourMs);
			for (let renewal = 0; firstMs < nowMs; renewal++) {
				const tid = `${subid}-${renewal}`;
				if (renewal === 0) claim.run(`t:${tid}`, atMs, vid);
				const rvn = renewal > 0 && random() < 0.03 ? -999 : 999;
				event.run(tid, subid, 'membership', rvn, firstMs, vid, renewal === 0 ? 2 : 0);
				made.entries.push(
					subscriptionEntry({ tid, subid, evt: 'membership', rvn, received_at: firstMs } as never),
				);
				firstMs += Math.floor((29 + 2 * random()) * dayMs);
				if (random() < 0.06) break;
			}
		}
		visitor.run(vid, JSON.stringify(profileOf(made.entries)));
	}
	database.exec(
		`INSERT INTO hit (vid, sid, at, body) SELECT vid, sid, at, body FROM made_hit ORDER BY at;
		INSERT INTO subscription_event (tid, subid, evt, rvn, received_at, vid, named)
		SELECT tid, subid, evt, rvn, at, vid, named FROM made_event ORDER BY at;
		${indexes.map(({ sql }) => sql).join(';')}; COMMIT; PRAGMA journal_mode = WAL`,
	);
	database.close();
}
if (import.meta.main) {
	await fillAccount(process.argv[2] as string, Number(process.argv[3] ?? largeAccount.visitors), Date.now());
}
