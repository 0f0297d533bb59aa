import { createHash, type Hash } from 'node:crypto';
import type { ControlContent } from './control.ts';
import { controlRows, controlTables, type Importer, type SubscriptionEventRow } from './importer.ts';
import { OperatorError, type Store } from './store.ts';

/** Bounds memory, and what is done again after an interruption. */
const pageRows = 5000;

export interface CopyProgress {
	readonly step: 'copy' | 'verify';
	readonly aid: string;
	/** Events of all accounts that are done with in this step. */
	readonly events: number;
	readonly totalEvents: number;
}

export interface AccountCopy {
	readonly aid: string;
	readonly events: number;
	/** Of them, by this run; the others were there from an earlier one. */
	readonly copied: number;
	/** Over all events in order of arrival; the same on every engine. */
	readonly sha256: string;
}

export interface CopyReport {
	readonly resumed: boolean;
	readonly clients: number;
	readonly plans: number;
	readonly keys: number;
	readonly accounts: readonly AccountCopy[];
	readonly events: number;
}

type OnProgress = (progress: CopyProgress) => void;

/**
 * Copies everything of one store into another that is empty, or holds an unfinished copy of the same; compares both by
 * counts and checksums before the control tables make the copy usable.
 * @throws OperatorError where a server runs on the source, the target is in use, or either changes meanwhile
 */
export async function copyStore(source: Store, target: Store, onProgress: OnProgress): Promise<CopyReport> {
	const letServersIn = source.keepServersAway();
	try {
		const content = await source.control.content();
		if (content.client.length === 0) throw new OperatorError('There is nothing to copy: no client is there.');
		const importer = await target.importer();
		try {
			return await new Copy(source, target, importer, content, onProgress).run();
		} finally {
			await importer.close();
		}
	} finally {
		letServersIn();
	}
}

class Copy {
	readonly #source: Store;
	readonly #target: Store;
	readonly #importer: Importer;
	readonly #content: ControlContent;
	readonly #onProgress: OnProgress;
	#totalEvents = 0;

	constructor(
		source: Store,
		target: Store,
		importer: Importer,
		content: ControlContent,
		onProgress: OnProgress,
	) {
		this.#source = source;
		this.#target = target;
		this.#importer = importer;
		this.#content = content;
		this.#onProgress = onProgress;
	}

	async run(): Promise<CopyReport> {
		const { client, account, plan, api_key } = this.#content;
		const begun = await this.#importer.begin(
			identityOf(this.#content),
			account.map(({ id }) => id),
		);
		for (const { id } of account)
			this.#totalEvents += await this.#source.read(id, (reader) => reader.countSubscriptionEvents());
		const copied = await this.#copyEvents();
		const checksums = await this.#verifyEvents();
		if (checksumOf(await this.#source.control.content()) !== checksumOf(this.#content))
			throw new OperatorError(
				'The source has changed while it was copied; stop what writes to it and run the same command again.',
			);
		await this.#importer.finish(this.#content);
		if (checksumOf(await this.#target.control.content()) !== checksumOf(this.#content))
			throw differs('the control database');
		return {
			resumed: begun === 'resumed',
			clients: client.length,
			plans: plan.length,
			keys: api_key.length,
			accounts: account.map(({ id, aid }) => {
				const { events, sha256 } = checksums.get(id) as Checksum;
				return { aid, events, copied: copied.get(id) ?? 0, sha256 };
			}),
			events: this.#totalEvents,
		};
	}

	/** @returns how many events of each account this run has copied */
	async #copyEvents(): Promise<Map<number, number>> {
		const copied = new Map<number, number>();
		let done = 0;
		for (const { id, aid } of this.#content.account) {
			await this.#target.createAccountDatabase(id);
			const there = await this.#target.read(id, (reader) => reader.countSubscriptionEvents());
			const progress = (events: number) =>
				this.#onProgress({ step: 'copy', aid, events: done + events, totalEvents: this.#totalEvents });
			progress(there);
			const events = await this.#copyAccount(id, (count) => progress(there + count));
			copied.set(id, events);
			done += there + events;
		}
		return copied;
	}

	async #copyAccount(accountId: number, progress: (events: number) => void): Promise<number> {
		const after = await this.#importer.lastEventId(accountId);
		let events = 0;
		await forEachPage(this.#source, accountId, after, async (rows) => {
			await this.#importer.addEvents(accountId, rows);
			events += rows.length;
			progress(events);
		});
		return events;
	}

	async #verifyEvents(): Promise<Map<number, Checksum>> {
		const checksums = new Map<number, Checksum>();
		let done = 0;
		for (const { id, aid } of this.#content.account) {
			const progress = (events: number) =>
				this.#onProgress({ step: 'verify', aid, events: done + events, totalEvents: this.#totalEvents });
			const [source, target] = await Promise.all([
				checksumOfEvents(this.#source, id, progress),
				checksumOfEvents(this.#target, id, () => {}),
			]);
			if (source.events !== target.events || source.sha256 !== target.sha256)
				throw differs(`account ${aid} (${source.events} events there, ${target.events} here)`);
			checksums.set(id, source);
			done += source.events;
		}
		return checksums;
	}
}

function differs(what: string): OperatorError {
	return new OperatorError(
		`The copy of ${what} differs from the source; stop what writes to either, empty the place to copy to, and copy again.`,
	);
}

/** Reads the next page while `fn` has the last one. */
async function forEachPage(
	store: Store,
	accountId: number,
	afterId: number,
	fn: (rows: readonly SubscriptionEventRow[]) => Promise<void>,
): Promise<void> {
	await store.read(accountId, async (reader) => {
		let rows = await reader.subscriptionEventRows(afterId, pageRows);
		for (let last = rows.at(-1); last; last = rows.at(-1))
			[rows] = await Promise.all([reader.subscriptionEventRows(last.id, pageRows), fn(rows)]);
	});
}

interface Checksum {
	readonly events: number;
	readonly sha256: string;
}

async function checksumOfEvents(
	store: Store,
	accountId: number,
	progress: (events: number) => void,
): Promise<Checksum> {
	const hash = createHash('sha256');
	let events = 0;
	await forEachPage(store, accountId, 0, async (rows) => {
		addRows(
			hash,
			rows.map((row) => [row.id, row.tid, row.subid, row.cid, row.evt, row.rvn, row.received_at]),
		);
		events += rows.length;
		progress(events);
	});
	return { events, sha256: hash.digest('hex') };
}

/** JSON lines: no two different rows have the same. */
function addRows(hash: Hash, rows: readonly (string | number | null)[][]): void {
	hash.update(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}

function checksumOf(content: ControlContent): string {
	const hash = createHash('sha256');
	for (const table of controlTables) {
		const lines = controlRows(content, table).map((row) => JSON.stringify(row));
		// Sorted here: engines sort text differently.
		hash.update(`${table}\n${lines.sort().join('\n')}\n`);
	}
	return hash.digest('hex');
}

/** The first client and account, which never change, with the moment they were made; wherever the source lies. */
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
