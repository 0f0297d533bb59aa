import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openStore } from '../../src/assembly/open-store.ts';
import { dayMs } from '../../src/core/durations.ts';
import { seededRandom } from '../../src/kit/random.ts';

export interface LargeAccount {
	readonly visitors: number;
	readonly hits: number;
	readonly touches: number;
	readonly events: number;
}

const channels = ['email', 'direct', 'paid search', 'organic search', 'social', 'referral'];

/** The origins of touches. Some are far more frequent than others. */
const origins = Array.from({ length: 2000 }, (_, n) =>
	JSON.stringify([
		channels[n % 6],
		`source-${n % 12}.example`,
		n % 3 ? null : 'cpc',
		n % 2 ? null : `campaign ${n % 20}`,
		`shop.example/landing/${n}`,
	]),
);

/**
 * Adds the account `c-a-large`: visitors of one year, with 3.5 hits on average and one to three touches each. Every ninth
 * has subscribed. Writes directly into the tables that reports read: through the log it would take most of an hour.
 */
export async function addLargeAccount(folder: string, visitors: number): Promise<LargeAccount> {
	const store = await openStore(`sqlite:${folder}`);
	const { id } = await store.control.createAccount(
		{ aid: 'c-a-large', client: 'proof', origins: [] },
		(account) => store.createAccountDatabase(account),
	);
	await store.close();
	using account = new DatabaseSync(join(folder, 'accounts', `${id}.sqlite`));
	const nowMs = Date.now();
	const yearMs = 365 * dayMs;
	const random = seededRandom(7);
	account.function('any_origin', () => origins[Math.floor(2000 * random() * random())] as string);
	account.function('any', (most) => Math.floor(Number(most) * random()));
	account.exec(`
		PRAGMA synchronous = OFF;
		PRAGMA cache_size = -400000;
		BEGIN;
		CREATE TEMP TABLE person AS
			WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${visitors})
			SELECT n, lower(hex(randomblob(16))) AS vid, ${nowMs - yearMs} + any(${yearMs}) AS at, 1 + any(3) AS touches FROM n;
		CREATE TEMP TABLE k AS SELECT value AS k FROM json_each('[0, 1, 2, 3, 4]');
		INSERT OR IGNORE INTO touch (vid, at, origin)
			SELECT vid, at + k * ${dayMs} * (1 + any(9)), any_origin() FROM person JOIN k ON k < touches ORDER BY vid;
		INSERT INTO hit (vid, sid, at, body)
			SELECT vid, substr(vid, 1, 31) || k, at + k * 3600000,
				'{"page":"shop.example/p/' || any(300) || '","url":"https://shop.example/p","referrer":null,"title":null,"events":[],"cid":null,"channel":"internal","device":"desktop"}'
			FROM person JOIN k ON k < 2 + n % 4 ORDER BY at;
		CREATE TEMP TABLE event AS
			SELECT 'T-' || n || '-' || k AS tid, 'S-' || n AS subid, vid, n, k, at + ${20 * dayMs} + k * ${30 * dayMs} AS at
			FROM person JOIN k ON k < 3 WHERE n % 10 = 0 OR n % 60 = 1;
		INSERT INTO subscription_event (tid, subid, cid, evt, rvn, received_at, vid, named)
			SELECT tid, subid, NULL, 'newsletter', CASE WHEN k = 2 AND n % 7 = 0 THEN -499 ELSE 499 + n % 3000 END, at, vid, CASE k WHEN 0 THEN 2 ELSE 0 END
			FROM event WHERE at < ${nowMs} ORDER BY at;
		INSERT INTO claim (key, at, vid)
			SELECT 't:' || tid, at - 3600000, vid FROM event WHERE k = 0 AND at < ${nowMs} ORDER BY tid;
		COMMIT;
		ANALYZE;
	`);
	const count = (table: string) => Number(account.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n);
	return { visitors, hits: count('hit'), touches: count('touch'), events: count('subscription_event') };
}
