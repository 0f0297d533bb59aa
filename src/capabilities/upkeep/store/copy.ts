import { createHash } from 'node:crypto';
import { OperatorError } from '../../../core/errors.ts';
import {
	type ClientTable,
	clientTableNames,
	clientTables,
} from '../../../core/store/account/client-tables.ts';
import { countRows, tableRows } from '../../../core/store/account/reading/rows.ts';
import type { ControlContent } from '../../../core/store/control/control-store.ts';
import { settleAll } from '../../../core/store/settle-all.ts';
import type { Value } from '../../../core/store/steps.ts';
import type { OpenStore } from '../../../core/store/store.ts';
import { type CopyTarget, controlRows } from './copy-target.ts';
import { openCopyTarget } from './open-copy-target.ts';

/** Bounds memory, and the work that an interruption repeats. */
const pageRows = 5000;

interface CopyProgress {
	readonly step: 'copy' | 'verify';
	readonly aid: string;
	/** Rows done in this step, over all accounts. */
	readonly rows: number;
	readonly totalRows: number;
}

interface AccountCopy {
	readonly aid: string;
	readonly events: number;
	readonly hits: number;
	readonly visitors: number;
	/** Over all tables. */
	readonly rows: number;
	/** Rows copied by this run; an earlier one copied the others. */
	readonly copied: number;
	/** Checksum of all rows in key order; the same on every engine. */
	readonly sha256: string;
}

export interface CopyReport {
	readonly resumed: boolean;
	readonly clients: number;
	readonly plans: number;
	readonly keys: number;
	readonly accounts: readonly AccountCopy[];
	readonly events: number;
	readonly hits: number;
	readonly rows: number;
}

type OnProgress = (progress: CopyProgress) => void;

/**
 * Copies a whole store into another that is empty or has an unfinished copy of the same source. Compares both by counts
 * and checksums before the control tables make the copy usable.
 * @throws OperatorError where a server runs on the source, the target is in use, or either changes during the copy
 */
export async function copyStore(
	source: OpenStore,
	target: OpenStore,
	onProgress: OnProgress,
): Promise<CopyReport> {
	const unblockServers = source.blockServers();
	try {
		const content = await source.control.content();
		if (content.client.length === 0)
			throw new OperatorError('There is nothing to copy: the source has no clients.');
		const copyTarget = await openCopyTarget(target.place);
		try {
			return await copyContent(source, target, { content, copyTarget, onProgress });
		} finally {
			await copyTarget.close();
		}
	} finally {
		unblockServers();
	}
}

interface CopyTask {
	/** Of the source. */
	readonly content: ControlContent;
	readonly copyTarget: CopyTarget;
	readonly onProgress: OnProgress;
}

async function copyContent(source: OpenStore, target: OpenStore, copying: CopyTask): Promise<CopyReport> {
	const { content, copyTarget } = copying;
	const { client, account, plan, api_key } = content;
	const begun = await copyTarget.begin(
		identityOf(content),
		account.map(({ id }) => id),
	);
	let rows = 0;
	for (const { id } of account) {
		await settleAll(source, id);
		rows += await countAllRows(source, id);
	}
	const copied = await copyAccounts(source, target, rows, copying);
	const accounts = await verifyAccounts(source, target, rows, copying);
	if (checksumOf(await source.control.content()) !== checksumOf(content))
		throw new OperatorError(
			'The source changed while it was copied; stop what writes to it and run the same command again.',
		);
	const copiedContent = withoutOwnServers(content);
	await copyTarget.finish(copiedContent);
	if (checksumOf(await target.control.content()) !== checksumOf(copiedContent))
		throw differs('the control database');
	return {
		resumed: begun === 'resumed',
		clients: client.length,
		plans: plan.length,
		keys: api_key.length,
		accounts: account.map(({ id, aid }) => {
			const { counts, sha256 } = accounts.get(id) as Checksum;
			return {
				aid,
				events: counts.subscription_event,
				hits: counts.hit,
				visitors: counts.visitor,
				rows: sum(Object.values(counts)),
				copied: copied.get(id) ?? 0,
				sha256,
			};
		}),
		events: sum([...accounts.values()].map(({ counts }) => counts.subscription_event)),
		hits: sum([...accounts.values()].map(({ counts }) => counts.hit)),
		rows,
	};
}

/** @returns the number of rows that this run copied, per account */
async function copyAccounts(
	source: OpenStore,
	target: OpenStore,
	totalRows: number,
	{ content, copyTarget, onProgress }: CopyTask,
): Promise<Map<number, number>> {
	const copied = new Map<number, number>();
	let done = 0;
	for (const { id, aid } of content.account) {
		// An account with rows has them from an earlier attempt: otherwise the copy would have been refused.
		if (!(await hasRows(copyTarget, id))) await target.createAccountDatabase(id);
		const there = await countAllRows(target, id);
		const progress = (rows: number) => onProgress({ step: 'copy', aid, rows: done + rows, totalRows });
		progress(there);
		let count = 0;
		for (const table of clientTableNames) {
			const after = await copyTarget.lastKey(id, table);
			await forEachPage(source, id, table, after, async (rows) => {
				await copyTarget.addRows(id, table, rows);
				count += rows.length;
				progress(there + count);
			});
		}
		copied.set(id, count);
		done += there + count;
	}
	return copied;
}

async function hasRows(copyTarget: CopyTarget, accountId: number): Promise<boolean> {
	for (const table of clientTableNames) if (await copyTarget.lastKey(accountId, table)) return true;
	return false;
}

async function verifyAccounts(
	source: OpenStore,
	target: OpenStore,
	totalRows: number,
	{ content, onProgress }: CopyTask,
): Promise<Map<number, Checksum>> {
	const checksums = new Map<number, Checksum>();
	let done = 0;
	for (const { id, aid } of content.account) {
		const progress = (rows: number) => onProgress({ step: 'verify', aid, rows: done + rows, totalRows });
		const [ofSource, ofTarget] = await Promise.all([
			checksumOfAccount(source, id, progress),
			checksumOfAccount(target, id, () => {}),
		]);
		const [there, here] = [ofSource, ofTarget].map(({ counts }) => sum(Object.values(counts)));
		if (there !== here || ofSource.sha256 !== ofTarget.sha256)
			throw differs(`account ${aid} (${there} rows in the source, ${here} in the copy)`);
		checksums.set(id, ofSource);
		done += there ?? 0;
	}
	return checksums;
}

/**
 * A copy keeps all accounts in one place, even those with their own server, which it would otherwise share with its
 * source.
 */
function withoutOwnServers(content: ControlContent): ControlContent {
	return { ...content, account: content.account.map((row) => ({ ...row, database: null })) };
}

function differs(what: string): OperatorError {
	return new OperatorError(
		`The copy of ${what} differs from the source; stop what writes to either, empty the target, and copy again.`,
	);
}

/** Reads the next page while `fn` processes the last one. */
async function forEachPage(
	store: OpenStore,
	accountId: number,
	table: ClientTable,
	after: Value[] | undefined,
	fn: (rows: readonly (readonly Value[])[]) => Promise<void>,
): Promise<void> {
	const { columns, key } = clientTables[table];
	const keyPlaces = key.map((name) => (columns as readonly string[]).indexOf(name));
	const pageAfter = (key: readonly Value[] | undefined) =>
		store.read(accountId, tableRows(table, key, pageRows));
	let rows = await pageAfter(after);
	for (let last = rows.at(-1); last; last = rows.at(-1)) {
		const lastKey = keyPlaces.map((place) => last?.[place] as Value);
		[rows] = await Promise.all([pageAfter(lastKey), fn(rows)]);
	}
}

interface Checksum {
	readonly counts: Readonly<Record<ClientTable, number>>;
	readonly sha256: string;
}

async function checksumOfAccount(
	store: OpenStore,
	accountId: number,
	progress: (rows: number) => void,
): Promise<Checksum> {
	const hash = createHash('sha256');
	const counts = Object.fromEntries(clientTableNames.map((table) => [table, 0])) as Record<
		ClientTable,
		number
	>;
	for (const table of clientTableNames) {
		hash.update(`${table}\n`);
		await forEachPage(store, accountId, table, undefined, async (rows) => {
			// JSON lines are unambiguous: different rows never give the same text.
			hash.update(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
			counts[table] += rows.length;
			progress(sum(Object.values(counts)));
		});
	}
	return { counts, sha256: hash.digest('hex') };
}

async function countAllRows(store: OpenStore, accountId: number): Promise<number> {
	const counts: number[] = [];
	for (const table of clientTableNames) counts.push(await store.read(accountId, countRows(table)));
	return sum(counts);
}

function sum(numbers: readonly number[]): number {
	return numbers.reduce((total, number) => total + number, 0);
}

function checksumOf(content: ControlContent): string {
	const hash = createHash('sha256');
	for (const table of Object.keys(content)) {
		const lines = controlRows(content, table).rows.map((row) => JSON.stringify(row));
		// Sorted here, because engines sort text differently.
		hash.update(`${table}\n${lines.sort().join('\n')}\n`);
	}
	return hash.digest('hex');
}

/**
 * Identifies the source, wherever it is, by its first client and account and their creation times, which never change.
 */
function identityOf({ client, account }: ControlContent): string {
	const first = <Row extends { readonly id: number }>(rows: readonly Row[]) =>
		rows.reduce<Row | undefined>((least, row) => (least && least.id < row.id ? least : row), undefined);
	const [firstClient, firstAccount] = [first(client), first(account)];
	return createHash('sha256')
		.update(
			JSON.stringify([
				[firstClient?.id, firstClient?.name, firstClient?.created_at],
				[firstAccount?.id, firstAccount?.aid, firstAccount?.created_at],
			]),
		)
		.digest('hex');
}
