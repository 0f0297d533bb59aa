/**
 * `npm run proof:reports [SECONDS [SEED]]` plays random histories on each engine, for SECONDS (60) each, and adds up every report
 * again, from what `caskade export` prints and by `docs/reference/reports.md`, without anything of `src/`: each with random dimensions,
 * periods, bases, models, time zones, filters, comparisons and moments. A failure is printed with its seed, the question and
 * the history. `reports.test.ts` is the short form.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { openStore } from '../../src/assembly/open-store.ts';
import { foldAll } from '../../src/core/store/fold-all.ts';
import type { ServingWriter } from '../../src/core/store/serving.ts';
import type { OpenStore } from '../../src/core/store/store.ts';
import { ignoreEvents } from '../core/store/ignore-events.ts';
import { createDatabase, startPostgres } from '../core/store/postgres/server.ts';
import { readStored } from '../core/store/stored-log.ts';
import { busy, checkReports } from '../histories/checking-reports.ts';
import { exportedLog } from '../histories/exported-log.ts';
import {
	abandonedPlan,
	arrivals,
	histories,
	longHistories,
	openedAtOnce,
	regularPayments,
	tried,
} from '../histories/history.ts';
import { Playing } from '../histories/playing.ts';
import { questions } from '../histories/questions.ts';
import { StoredService } from '../histories/stored-service.ts';

const questionsOfHistory = 40;

export interface Checked {
	histories: number;
	reports: number;
	figures: number;
}

/** Plays histories, and compares reports with sums of what is exported, until it `isOver`. */
export async function checkExported(
	{ address, store, writer }: { address: string; store: OpenStore; writer: ServingWriter },
	{ seed, isOver }: { readonly seed: number; readonly isOver: (checked: Checked) => boolean },
): Promise<Checked> {
	const checked: Checked = { histories: 0, reports: 0, figures: 0 };
	for (let next = seed; !isOver(checked); next++) {
		const [all = []] = fc.sample(next % 2 ? histories : longHistories, { seed: next, numRuns: 1 });
		const paid = fc.sample(regularPayments, { seed: next, numRuns: next % 3 });
		const arrived = fc.sample(arrivals, { seed: next, numRuns: next % 2 });
		const abandoned = fc.sample(abandonedPlan, { seed: next, numRuns: Number(next % 3 === 1) });
		const mailed = fc.sample(openedAtOnce, { seed: next, numRuns: Number(next % 2 === 0) });
		const trials = fc.sample(tried, { seed: next, numRuns: Number(next % 4 > 1) });
		const history = [...trials, ...arrived, ...abandoned, ...all, ...paid, ...mailed];
		const aid = `c-a-proof-${next}`;
		const { id } = await store.control.createAccount({ aid, client: 'proof', origins: [] }, (made) =>
			store.createAccountDatabase(made),
		);
		await store.control.createSegment(id, busy);
		const playing = new Playing(new StoredService({ store, writer, accountId: id }));
		await playing.play(history);
		await foldAll(store, id);
		// What is kept of deleted hits is not exported, nor which keys too many have shared.
		const { kept, shared } = (await readStored(store, id)).log;
		const log = { ...(await exportedLog(address, aid)), kept, shared };
		const asked = fc.sample(questions(playing.nowMs), { seed: next, numRuns: questionsOfHistory });
		try {
			checked.figures += await checkReports(store, id, { log, questions: asked });
		} catch (error) {
			console.log(`seed ${next}: ${fc.stringify(history)}`);
			throw error;
		}
		checked.histories++;
		checked.reports += asked.length;
	}
	return checked;
}

async function main(): Promise<void> {
	const seconds = Number(process.argv[2] ?? 60);
	const seed = Number(process.argv[3] ?? Date.now() % 1_000_000);
	const server = await startPostgres();
	const folder = mkdtempSync(join(tmpdir(), 'caskade-reports-'));
	try {
		const engines = { sqlite: `sqlite:${join(folder, 'data')}`, postgres: await createDatabase(server) };
		for (const [engine, address] of Object.entries(engines)) {
			const store = await openStore(address);
			const writer = await store.startWriting(ignoreEvents);
			const untilMs = performance.now() + seconds * 1000;
			try {
				const isOver = () => performance.now() > untilMs;
				const { histories, reports, figures } = await checkExported(
					{ address, store, writer },
					{ seed, isOver },
				);
				console.log(
					`${engine}, from seed ${seed}: ${histories} histories, ${reports} reports, ${figures} figures: all as added up from the export`,
				);
			} finally {
				await writer.stop();
				await store.close();
			}
		}
	} finally {
		await server.stop();
		rmSync(folder, { recursive: true });
	}
}

if (import.meta.main) await main();
