/**
 * `npm run proof:upgrade [VISITORS]` creates a data folder with a million hits in the schema before `recent_hit`, kills
 * `caskade migrate` at random moments, and runs it again. Then all content must be unchanged, and new hits must work.
 * `upgrade.test.ts` is the short form.
 */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { seedVisitors } from '../../bench/sqlite-visitors.ts';
import { openStore } from '../../src/assembly/open-store.ts';
import { migrationFiles } from '../../src/core/store/migrations.ts';
import { visitorRecord } from '../../src/kit/reading/visitor-record.ts';
import { caskadeProcess, mainPath, TestProcess } from '../process.ts';

const schemaBefore = 4;
const tables = ['hit', 'visit', 'visitor', 'claim', 'subscription_event', 'task'] as const;
const columns = {
	hit: 'id, vid, sid, at, body',
	visit: 'id, sid, vid, profile, folded_to, refolded',
	visitor: 'id, vid, profile, folded_to, refolded',
	claim: 'key, at, vid, unfounded',
	subscription_event: 'id, tid, subid, cid, evt, rvn, received_at, vid',
	task: '*',
};

export interface Upgraded {
	readonly hits: number;
	readonly visitors: number;
	readonly kills: number;
	readonly migrateSeconds: number;
}

export async function upgrade(visitors: number, kills: number): Promise<Upgraded> {
	const folder = mkdtempSync(join(tmpdir(), 'caskade-upgrade-'));
	const address = `sqlite:${folder}`;
	const path = join(folder, 'accounts/1.sqlite');
	try {
		const store = await openStore(address);
		await store.control.createAccount({ aid: 'c-a-acme-uk', client: 'acme', origins: [] }, async () =>
			createWithOldSchema(path),
		);
		seedVisitors(path, visitors);
		const before = contentOf(path);
		for (let kill = 0; kill < kills; kill++) {
			const migrating = new TestProcess(process.execPath, [mainPath, 'migrate', '--database', address]);
			await delay(Math.random() * 600);
			migrating.child.kill('SIGKILL');
			await migrating.ended;
			assert.deepEqual(contentOf(path), before);
		}
		const startedMs = performance.now();
		const { stdout, code } = await caskadeProcess(['migrate', '--database', address]);
		const migrateSeconds = (performance.now() - startedMs) / 1000;
		assert.equal(code, 0);
		assert.match(stdout, /^Every database has the newest schema; [01] of 1 were migrated\.\n$/);
		assert.deepEqual(contentOf(path), before);
		await checkNewHit(store, path);
		await store.close();
		return { hits: before.hit.rows, visitors: before.visitor.rows, kills, migrateSeconds };
	} finally {
		rmSync(folder, { recursive: true });
	}
}

function createWithOldSchema(path: string): void {
	const database = new DatabaseSync(path);
	database.exec('PRAGMA journal_mode = WAL');
	for (const file of migrationFiles('sqlite', 'client').slice(0, schemaBefore))
		database.exec(readFileSync(file, 'utf8'));
	database.exec(`PRAGMA user_version = ${schemaBefore}`);
	database.close();
}

type Content = Readonly<Record<(typeof tables)[number], { rows: number; sha256: string }>>;

/** Row count and hash of each table, over the columns that both schemas have. */
function contentOf(path: string): Content {
	const database = new DatabaseSync(path, { timeout: 5000 });
	const entries = tables.map((table) => {
		let rows = 0;
		let sha256 = '';
		let page: string[] = [];
		const end = () => {
			sha256 = hash('sha256', sha256 + page.join('\n'));
			page = [];
		};
		for (const row of database
			.prepare(`SELECT ${columns[table]} FROM ${table} ${onlyEarlierTasks(table)} ORDER BY 1, 2, 3`)
			.iterate()) {
			rows++;
			if (page.push(JSON.stringify(row)) === 1000) end();
		}
		end();
		return [table, { rows, sha256 }];
	});
	database.close();
	return Object.fromEntries(entries);
}

/** Excludes the tasks that the migration adds for the background. */
function onlyEarlierTasks(table: string): string {
	return table === 'task' ? "WHERE name < 's'" : '';
}

/** Checks that a visitor from before the upgrade can add a hit and keeps all earlier ones. */
async function checkNewHit(store: Awaited<ReturnType<typeof openStore>>, path: string): Promise<void> {
	const database = new DatabaseSync(path, { readOnly: true });
	const vid = String(database.prepare('SELECT vid FROM visitor LIMIT 1').get()?.vid);
	database.close();
	const before = await store.read(1, visitorRecord(vid));
	const quiet = { onCommit() {}, onError() {}, onNotice() {}, onWaiting() {}, onDeath() {} };
	const writer = await store.startWriting(quiet);
	const body = { page: '/', url: null, referrer: null, title: null, events: [], cid: null };
	const [freshVid, freshSid] = ['f'.repeat(32), 'e'.repeat(32)];
	const hit = { ...body, channel: 'direct', device: 'desktop' };
	const atMs = Date.now();
	const stored = await writer.storeHit(1, { vid, sid: null, freshVid, freshSid, atMs, body: hit });
	await writer.stop();
	assert.deepEqual(stored, { vid, sid: freshSid });
	const after = await store.read(1, visitorRecord(vid));
	assert.deepEqual(after?.hits.slice(0, -1), before?.hits);
	assert.equal(after?.hits.at(-1)?.sid, freshSid);
	assert.equal(after?.profile?.hits, (before?.profile?.hits ?? 0) + 1);
}

if (import.meta.main) {
	const { hits, visitors, kills, migrateSeconds } = await upgrade(Number(process.argv[2] ?? 186_000), 10);
	process.stdout.write(
		`${hits} hits of ${visitors} visitors: migrated in ${migrateSeconds.toFixed(2)} s, after ${kills} kills; all rows and profiles are unchanged.\n`,
	);
}
