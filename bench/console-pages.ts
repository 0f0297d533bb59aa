/**
 * `node bench/console-pages.ts [FOLDER] [VISITORS]` asks for every page of the console, of an account with a million visitors. A
 * FOLDER that already holds it is used again. Prints the CPU time of each page and the number of its elements, the first time
 * and again after the days are kept.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { consoleParts } from '../src/assembly/capabilities.ts';
import { createConsole } from '../src/assembly/console/console.ts';
import { openStore } from '../src/assembly/open-store.ts';
import { newLoginLink } from '../src/capabilities/people/access/sign-in.ts';
import { runReport } from '../src/capabilities/reports/run-report.ts';
import { AccessDirectory } from '../src/core/access/directory.ts';
import { monotonicMs } from '../src/core/clock.ts';
import type { OpenStore } from '../src/core/store/store.ts';
import { Browser, consoleUrl } from '../test/assembly/console/browser.ts';
import { computeAt } from '../test/assembly/console/here.ts';
import { aid, fillAccount, largeAccount } from './console-account.ts';

const paths = [
	...['', '?compare=year', '?period=364', '?period=364&timezone=Asia/Kathmandu', '?period=all'],
	...['attribution', 'journeys', 'revenue', 'retention'],
];

const givenFolder = process.argv[2];
const folder = givenFolder ?? mkdtempSync(join(tmpdir(), 'caskade-console-'));
const print = (text: string) => process.stdout.write(`${text}\n`);

async function askForPages(store: OpenStore, note: string): Promise<void> {
	const directory = await AccessDirectory.load(store.control, () => {});
	const sections: string[] = [];
	const pages = createConsole({
		store,
		directory,
		consoleUrl,
		monotonicMs,
		now: store.now,
		parts: await consoleParts(),
		waitMs: 600_000,
		onError: (error, path) => print(`${path}: ${error}`),
		compute: computeAt(store, async ({ account, query }) => {
			const before = process.cpuUsage();
			const made = await runReport(store, account, query);
			sections.push(`${query.kind}${query.every ? ` by ${query.every}` : ''} ${cpuMs(before)}`);
			return made;
		}),
	});
	const email = 'bench@shop.example';
	const person =
		(await store.control.people.list()).find((each) => each.email === email) ??
		(await store.control.people.create(email, [{ aid: null, role: 'admin' }]));
	const browser = new Browser(pages);
	await browser.open((await newLoginLink(store.control, person, consoleUrl)).link);
	for (const path of paths) {
		const before = process.cpuUsage();
		const { status, body } = await browser.get(`/console/${aid}/${path}`);
		const elements = String(body).match(/<[a-z]/g)?.length ?? 0;
		print(
			`${note} /${path}: ${cpuMs(before)} ms of CPU (${sections.splice(0).join(', ')}), status ${status}, ${elements} elements`,
		);
	}
	pages.stop();
	await directory.stop();
}

function cpuMs(before: NodeJS.CpuUsage): string {
	const { user, system } = process.cpuUsage(before);
	return ((user + system) / 1000).toFixed(0);
}

await fillAccount(folder, Number(process.argv[3] ?? largeAccount.visitors), Date.now());
const store = await openStore(`sqlite:${folder}`);
try {
	await askForPages(store, 'as stored');
} finally {
	await store.close();
	if (givenFolder === undefined) rmSync(folder, { recursive: true });
}
