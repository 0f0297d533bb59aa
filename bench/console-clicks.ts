/**
 * `node bench/console-clicks.ts [FOLDER] [VISITORS] [SECONDS]` measures uploads and reads of scores while ten people click through
 * the console of an account with a million visitors, in turn with nobody clicking. A FOLDER that already holds the account is used
 * again. Prints the percentiles of latency, how many pages were shown, and the 95th percentile of each page.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { openStore } from '../src/assembly/open-store.ts';
import { newLoginLink } from '../src/capabilities/people/access/sign-in.ts';
import { issueCask } from '../src/core/access/cask.ts';
import { roomyPlan } from '../test/support.ts';
import { aid, fillAccount, largeAccount } from './console-account.ts';
import { processUs } from './cpu.ts';
import { ms } from './latency.ts';
import type { OpenLoopInput, OpenLoopResult } from './open-loop.ts';
import { percentile } from './percentile.ts';
import { runProgram } from './processes.ts';
import type { RequestKind } from './requests.ts';
import { eventsPerUpload, nextPrefix } from './upload-bodies.ts';

const people = 10;
/** Somebody looks at a page for so long. */
const lookMs = 2000;
const pairs = 2;
const perSecond = { reads: 200, uploads: 20 };
const pages = [
	'',
	'?period=91',
	'?compare=year',
	'attribution',
	'campaigns',
	'journeys',
	'revenue',
	'retention',
	'scores',
	'experiments',
	'segments',
	'subscriptions',
	'visitors',
	'uploads',
	'webhooks',
	'settings',
];

const givenFolder = process.argv[2];
const folder = givenFolder ?? mkdtempSync(join(tmpdir(), 'caskade-console-'));
const seconds = Number(process.argv[4] ?? 20);
const print = (text: string) => process.stdout.write(`${text}\n`);

async function prepare() {
	await fillAccount(folder, Number(process.argv[3] ?? largeAccount.visitors), Date.now());
	const store = await openStore(`sqlite:${folder}`);
	const { control } = store;
	const [account] = await control.accounts();
	if (!account) throw new Error('the folder holds no account');
	const plan = { ...roomyPlan, name: `bench-${Date.now()}` };
	await control.createPlan(plan);
	const { key } = await control.issueKey(account.client, plan.name);
	const signingKeys = await control.ensureSigningKeys();
	const database = new DatabaseSync(join(folder, 'accounts', `${account.id}.sqlite`), { readOnly: true });
	const rows = database.prepare('SELECT vid FROM visitor LIMIT 4000').all();
	database.close();
	const casks = join(folder, 'casks');
	writeFileSync(
		casks,
		rows
			.map(({ vid }) => issueCask(signingKeys, { aid, scope: 'vid', subject: String(vid) }, Date.now()).cask)
			.join('\n'),
	);
	return { store, key, casks };
}

interface Took {
	readonly page: string;
	readonly ms: number;
}

/** Signs in, and clicks until the signal is aborted. @returns how long each page took, and which it was */
async function click(url: string, link: string, isOver: () => boolean): Promise<Took[]> {
	const token = new URL(link).searchParams.get('link') as string;
	const signedIn = await fetch(`${url}/console/sign-in`, {
		method: 'POST',
		redirect: 'manual',
		body: new URLSearchParams({ link: token }),
		headers: { 'sec-fetch-site': 'same-origin', origin: url },
	});
	const cookie = (signedIn.headers.getSetCookie()[0] ?? '').split(';')[0] as string;
	const took: Took[] = [];
	for (let place = Math.floor(Math.random() * pages.length); !isOver(); place++) {
		const page = pages[place % pages.length] as string;
		const beganMs = performance.now();
		const answer = await fetch(`${url}/console/${aid}/${page}`, {
			headers: { cookie },
		});
		await answer.text();
		if (answer.status !== 200) throw new Error(`a page was answered with ${answer.status}`);
		took.push({ page, ms: performance.now() - beganMs });
		await delay(lookMs * 2 * Math.random());
	}
	return took;
}

/** Reports that nobody waits for any more are still made. */
async function untilIdle(pid: number): Promise<void> {
	for (let usedMs = Number.POSITIVE_INFINITY; usedMs > 50; ) {
		const before = processUs(pid);
		await delay(1000);
		usedMs = (processUs(pid) - before) / 1000;
	}
}

const { store, key, casks } = await prepare();
const args = ['serve', '--port', '0', '--console-port', '0', '--database', `sqlite:${folder}`];
const server = spawn(process.execPath, [join(import.meta.dirname, '../src/main.js'), ...args]);
try {
	let text = '';
	server.stdout.on('data', (chunk) => {
		text += chunk;
	});
	server.stderr.resume();
	while (!/console: http\S+/.test(text)) await delay(50);
	const [, url = ''] = /serves at (http:\S+?)[, ]/.exec(text) ?? [];
	const [consoleUrl = ''] = /(?<=console: )http:\/\/[^/\s]+/.exec(text) ?? [];
	// One connection each: the server closes those that are never used.
	const generate = (requests: RequestKind, ratePerSecond: number) =>
		runProgram<OpenLoopResult>('open-loop.ts', {
			url,
			requests,
			ratePerSecond,
			connections: 1,
			warmUpSeconds: 2,
			seconds,
		} satisfies OpenLoopInput);
	const load = () =>
		Promise.all([
			generate({ kind: 'reads', casks }, perSecond.reads),
			generate({ kind: 'uploads', key, rows: eventsPerUpload, prefix: nextPrefix() }, perSecond.uploads),
		]);
	const { pid } = server as { pid: number };
	for (let run = 0; run < 2 * pairs; run++) {
		await untilIdle(pid);
		const clicking = run % 2 === 0 ? 0 : people;
		let isOver = false;
		const links = await Promise.all(
			Array.from({ length: clicking }, async (_, number) => {
				const email = `p${number}-${Date.now()}@shop.example`;
				const person = await store.control.people.create(email, [{ aid: null, role: 'admin' }]);
				return (await newLoginLink(store.control, person, consoleUrl)).link;
			}),
		);
		// Threads of jobs end meanwhile.
		const before = processUs(pid);
		const clicks = Promise.all(links.map((link) => click(consoleUrl, link, () => isOver)));
		const [reads, uploads] = await load();
		isOver = true;
		const took = (await clicks).flat();
		const usedS = ((processUs(pid) - before) / 1e6).toFixed(1);
		const all = took.map((one) => one.ms);
		const shown =
			took.length === 0
				? ''
				: `; ${took.length} pages, p50 ${ms(percentile(all, 0.5))}, p95 ${ms(percentile(all, 0.95))}, p99 ${ms(percentile(all, 0.99))}`;
		print(
			`${clicking} people click: reads p50 ${ms(reads.p50Ms)}, p99 ${ms(reads.p99Ms)}; uploads p50 ${ms(uploads.p50Ms)}, p99 ${ms(uploads.p99Ms)} (the generator's own delay, p99: ${ms(reads.generatorDelayP99Ms)})${shown}; the server used ${usedS} s of CPU`,
		);
		for (const [page, own] of Map.groupBy(took, (one) => one.page))
			print(
				`  /${page}: ${own.length} times, p95 ${ms(
					percentile(
						own.map((one) => one.ms),
						0.95,
					),
				)}`,
			);
	}
} finally {
	server.kill('SIGTERM');
	await once(server, 'exit');
	await store.close();
	if (givenFolder === undefined) rmSync(folder, { recursive: true });
}
