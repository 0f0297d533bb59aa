import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { dateMs, type Histories, readHistories } from './cdnow.ts';
import type { Outcome } from './scoring.ts';

const mainPath = join(import.meta.dirname, '../../src/main.js');
const dayMs = 24 * 60 * 60 * 1000;
const horizonDays = 13 * 7;
/** The first moment of which nothing is known: the end of 1997-09-30. */
const asOfMs = dateMs('19971001');
const aid = 'c-a-cdnow-us';
const maxOutputBytes = 64 * 1024 * 1024;

interface ScoredVisitor {
	readonly visitor: string;
	readonly score: number;
}

/**
 * The long way round, as an operator goes it: `caskade import` of customers as visitors with one hit at their first
 * purchase and each purchase as a subscription event, `train --as-of`, `score --as-of`; on a data folder of its own.
 */
export async function aheadByCommands(masterFile: string): Promise<Outcome> {
	const histories = readHistories(masterFile);
	const folder = await mkdtemp(join(tmpdir(), 'caskade-cdnow-'));
	try {
		const caskade = caskadeOn(`sqlite:${join(folder, 'data')}`);
		const [history, mapping] = [join(folder, 'history.ndjson'), join(folder, 'visitors.ndjson')];
		await pipeline(Readable.from(historyLines(histories)), createWriteStream(history));
		await caskade('account', 'create', aid, '--client', 'cdnow');
		await caskade('goal', 'create', aid, 'purchase', '--evt', 'purchase', '--horizon-days', `${horizonDays}`);
		await caskade('import', aid, history, '--mapping', mapping);
		const asOf = ['--goal', 'purchase', '--as-of', new Date(asOfMs).toISOString()];
		await caskade('train', aid, ...asOf);
		const scored = (await caskade('score', aid, ...asOf, '--visitors', mapping))
			.trim()
			.split('\n')
			.map((line): ScoredVisitor => JSON.parse(line));
		const models = JSON.parse(await caskade('model', 'list', aid, '--goal', 'purchase', '--json'));
		const model = models.find(
			(other: { active: boolean; scope: string }) => other.active && other.scope === 'vid',
		);
		return {
			labels: Uint8Array.from(scored, ({ visitor }) => (buys(histories, visitor) ? 1 : 0)),
			scores: Float64Array.from(scored, ({ score }) => score),
			kind: model?.kind ?? 'prior',
			calibration: model?.calibration ?? '-',
			why: [],
		};
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

/** History as `caskade import` takes it. Days have no times: what happens in one is at noon. */
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
