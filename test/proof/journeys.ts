import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openStore } from '../../src/store/open.ts';
import { mainPath, TestProcess } from '../process.ts';
import { assertAsAwkSays, cdnowEnd, cdnowEvents, cdnowMaster } from '../reports/cdnow.ts';

/**
 * Reports on much: CDNOW, whole, against a script over the raw file; and an account with a million visitors, for time
 * and memory. `node test/proof/journeys.ts [visitors]`
 */

const visitors = Number(process.argv[2] ?? 1_000_000);
const folder = mkdtempSync(join(tmpdir(), 'caskade-journeys-'));
const database = `sqlite:${join(folder, 'data')}`;

interface Run {
	readonly stdout: string;
	readonly seconds: number;
	/** Of a processor: what the time would be on a machine that does nothing else. */
	readonly cpuSeconds: number;
	readonly peakMiB: number;
}

async function caskade(...args: string[]): Promise<Run> {
	const beganMs = performance.now();
	const script = `process.on("exit", () => { const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage(); process.stderr.write("peak " + maxRSS + " cpu " + (userCPUTime + systemCPUTime)); }); await import(${JSON.stringify(mainPath)});`;
	await using child = new TestProcess(process.execPath, [
		'--input-type=module',
		'-e',
		script,
		mainPath,
		...args,
		'--database',
		database,
	]);
	const { stdout, stderr, code } = await child.ended;
	assert.equal(code, 0, stderr);
	const [, peakKiB, cpuMicroseconds] = /peak (\d+) cpu (\d+)$/.exec(stderr) ?? [];
	return {
		stdout,
		seconds: (performance.now() - beganMs) / 1000,
		cpuSeconds: Number(cpuMicroseconds) / 1e6,
		peakMiB: Number(peakKiB) / 1024,
	};
}

async function addAccount(aid: string): Promise<string> {
	const store = await openStore(database);
	const { id } = await store.control.createAccount({ aid, client: 'proof', origins: [] }, (account) =>
		store.createAccountDatabase(account),
	);
	await store.close();
	return join(folder, 'data/accounts', `${id}.sqlite`);
}

async function proveCdnow(): Promise<void> {
	if (!existsSync(cdnowMaster)) return console.log(`CDNOW: ${cdnowMaster} is missing`);
	await addAccount('c-a-cdnow');
	const file = join(folder, 'cdnow.ndjson');
	const lines = cdnowEvents(cdnowMaster).map((event) =>
		JSON.stringify({ type: 'subscription', evt: 'purchase', ...event }),
	);
	writeFileSync(file, `${lines.join('\n')}\n`);
	await caskade('import', 'c-a-cdnow', file);
	const { stdout } = await caskade(
		'report',
		'ltv',
		'c-a-cdnow',
		'--by',
		'none',
		'--as-of',
		cdnowEnd,
		'--json',
	);
	const cells = assertAsAwkSays(cdnowMaster, JSON.parse(stdout).rows);
	console.log(`CDNOW: ${lines.length} purchases, ${cells} cells are what the script says`);
}

/** Written straight into the tables that reports read: by way of the log it would take most of an hour. */
async function fillLarge(): Promise<void> {
	const path = await addAccount('c-a-large');
	using account = new DatabaseSync(path);
	const nowMs = Date.now();
	const yearMs = 365 * 86_400_000;
	account.exec(`
		PRAGMA synchronous = OFF;
		BEGIN;
		CREATE TEMP TABLE origin (n INTEGER PRIMARY KEY, text TEXT);
		WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 59)
		INSERT INTO origin SELECT n, json_array(
			CASE n % 6 WHEN 0 THEN 'email' WHEN 1 THEN 'direct' WHEN 2 THEN 'paid search' WHEN 3 THEN 'organic search' WHEN 4 THEN 'social' ELSE 'referral' END,
			'source ' || (n % 12), NULL, 'campaign ' || (n % 20), '/landing/' || n) FROM n;
		CREATE TEMP TABLE person AS WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${visitors})
			SELECT n, lower(hex(randomblob(16))) AS vid, ${nowMs - yearMs} + abs(random() % ${yearMs}) AS at, 1 + abs(random() % 3) AS touches FROM n;
		INSERT OR IGNORE INTO touch SELECT vid, person.at + k.n * 86400000 * (1 + abs(random() % 9)), (SELECT text FROM origin WHERE n = abs(random() % 60))
			FROM (SELECT 0 AS n UNION SELECT 1 UNION SELECT 2) AS k JOIN person ON k.n < touches ORDER BY vid;
		CREATE TEMP TABLE event AS SELECT 'T-' || n || '-' || k AS tid, 'S-' || n AS subid, vid, n, k, at + 20 * 86400000 + k * 30 * 86400000 AS at
			FROM (SELECT 0 AS k UNION SELECT 1 UNION SELECT 2) AS renewal JOIN person ON n % 10 = 0;
		INSERT INTO subscription_event (tid, subid, cid, evt, rvn, received_at, vid, named)
			SELECT tid, subid, NULL, 'newsletter', CASE WHEN k = 2 AND n % 7 = 0 THEN -499 ELSE 499 + n % 3000 END, at, vid, CASE k WHEN 0 THEN 2 ELSE 0 END FROM event WHERE at < ${nowMs} ORDER BY at;
		INSERT INTO claim (key, at, vid) SELECT 't:' || tid, at - 3600000, vid FROM event WHERE k = 0 AND at < ${nowMs};
		COMMIT;
		ANALYZE;
	`);
	const count = (table: string) => account.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n;
	console.log(
		`Large: ${visitors} visitors, ${count('touch')} touches, ${count('subscription_event')} events`,
	);
}

async function measure(what: string, ...args: string[]): Promise<void> {
	const { seconds, cpuSeconds, peakMiB } = await caskade('report', ...args, '--json');
	console.log(
		`${what}: ${seconds.toFixed(1)} s (${cpuSeconds.toFixed(1)} s of a processor), ${peakMiB.toFixed(0)} MiB`,
	);
}

try {
	await proveCdnow();
	await fillLarge();
	await measure(
		'attribution, all models, without intervals',
		'attribution',
		'c-a-large',
		'--model',
		'all',
		'--no-intervals',
	);
	await measure('attribution, all models, 200 bootstraps', 'attribution', 'c-a-large', '--model', 'all');
	const from = new Date(Date.now() - 200 * 86_400_000).toISOString().slice(0, 8);
	const to = new Date(Date.now() - 170 * 86_400_000).toISOString().slice(0, 8);
	await measure(
		'attribution of one month',
		'attribution',
		'c-a-large',
		'--model',
		'all',
		'--from',
		`${from}01`,
		'--to',
		`${to}01`,
	);
	await measure('ltv', 'ltv', 'c-a-large');
} finally {
	rmSync(folder, { recursive: true, force: true });
}
