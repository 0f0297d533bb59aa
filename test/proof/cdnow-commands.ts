import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import type { BacktestReport } from '../../src/capabilities/training/follow/backtest.ts';
import { dayMs } from '../../src/core/durations.ts';
import { dateMs, type Histories, readHistories } from './cdnow.ts';
import type { Outcome } from './scoring.ts';

const mainPath = join(import.meta.dirname, '../../src/main.js');
export const horizonDays = 13 * 7;
/** The end of 1997-09-30. Models may use nothing from later. */
const asOfMs = dateMs('19971001');
const aid = 'c-a-cdnow-us';
const maxOutputBytes = 64 * 1024 * 1024;

interface ScoredVisitor {
	readonly visitor: string;
	readonly score: number;
}

/** An account of CDNOW's customers in a new data folder, filled with the commands that an operator would use. */
export interface CdnowAccount {
	/** Scores the customers as of 1997-09-30, with a model trained as of that day. */
	readonly scoreAhead: (seed: number) => Promise<Outcome>;
	readonly backtest: (cuts: number, seed: number) => Promise<BacktestReport>;
}

/**
 * Imports CDNOW's customers as visitors. Each has a hit at the first purchase, and a subscription event for every purchase.
 */
export async function withCdnowAccount<Result>(
	masterFile: string,
	use: (account: CdnowAccount) => Promise<Result>,
): Promise<Result> {
	const histories = readHistories(masterFile);
	const folder = await mkdtemp(join(tmpdir(), 'caskade-cdnow-'));
	try {
		const caskade = caskadeOn(`sqlite:${join(folder, 'data')}`);
		const [history, mapping] = [join(folder, 'history.ndjson'), join(folder, 'visitors.ndjson')];
		await pipeline(Readable.from(historyLines(histories)), createWriteStream(history));
		await caskade('account', 'create', aid, '--client', 'cdnow');
		await caskade(
			'goal',
			'create',
			aid,
			'purchase',
			'--evt',
			'purchase',
			'--counts',
			'any',
			'--horizon-days',
			`${horizonDays}`,
		);
		await caskade('import', aid, history, '--mapping', mapping);
		return await use({
			scoreAhead: async (seed) => {
				const asOf = ['--goal', 'purchase', '--as-of', new Date(asOfMs).toISOString()];
				await caskade('train', aid, ...asOf, '--seed', `${seed}`);
				const models = JSON.parse(await caskade('model', 'list', aid, '--goal', 'purchase', '--json'));
				const model = models.findLast((other: { scope: string }) => other.scope === 'vid');
				const named = ['--model', model.version, '--visitors', mapping];
				const scored = (await caskade('score', aid, ...asOf, ...named))
					.trim()
					.split('\n')
					.map((line): ScoredVisitor => JSON.parse(line));
				return {
					labels: Uint8Array.from(scored, ({ visitor }) => (buys(histories, visitor) ? 1 : 0)),
					scores: Float64Array.from(scored, ({ score }) => score),
					kind: model.kind,
				};
			},
			backtest: async (cuts, seed) =>
				JSON.parse(
					await caskade(
						...['backtest', aid, '--goal', 'purchase', '--cuts', `${cuts}`, '--seed', `${seed}`, '--json'],
					),
				),
		});
	} finally {
		await rm(folder, { recursive: true });
	}
}

function caskadeOn(database: string): (...args: readonly string[]) => Promise<string> {
	return async (...args) => {
		const run = promisify(execFile)(process.execPath, [mainPath, ...args, '--database', database], {
			maxBuffer: maxOutputBytes,
		});
		return (await run).stdout;
	};
}

/** The lines of a history file for `caskade import`. The data has no times of day, so everything happens at noon. */
function* historyLines(histories: Histories): Generator<string> {
	for (const [customer, purchases] of histories) {
		const noonMs = (atMs: number) => atMs + dayMs / 2;
		const first = purchases[0];
		if (first)
			yield line({
				type: 'hit',
				at: new Date(noonMs(first.atMs)).toISOString(),
				visitor: customer,
				url: 'https://cdnow.example/',
				cid: customer,
			});
		for (const [index, { atMs, dollars }] of purchases.entries())
			yield line({
				type: 'subscription',
				at: new Date(noonMs(atMs)).toISOString(),
				tid: `${customer}-${index}`,
				subid: customer,
				cid: customer,
				evt: 'purchase',
				rvn: Math.round(dollars * 100),
			});
	}
}

function line(entry: object): string {
	return `${JSON.stringify(entry)}\n`;
}

function buys(histories: Histories, customer: string): boolean {
	const purchases = histories.get(customer) ?? [];
	return purchases.some(({ atMs }) => atMs >= asOfMs && atMs < asOfMs + horizonDays * dayMs);
}
