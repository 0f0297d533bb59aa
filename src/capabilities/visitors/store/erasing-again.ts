import { randomBytes } from 'node:crypto';
import { customerMarkOf, markOf, secretNameOf } from '../../../core/domain/derived-vid.ts';
import { counted, listed } from '../../../core/format/numbers.ts';
import {
	type ErasedMark,
	erasedAt,
	saveMarks,
} from '../../../core/store/account/profiles/derived-visitors.ts';
import type { Account } from '../../../core/store/control/account-store.ts';
import type { Erasee, ErasureList, ListedErasure } from '../../../core/store/erasure-list.ts';
import { foldAll } from '../../../core/store/fold-all.ts';
import type { Check, Maintenance } from '../../../core/store/maintenance.ts';
import type { Reading } from '../../../core/store/steps.ts';
import type { Store } from '../../../core/store/store.ts';
import { everyCustomer, everyVisitor } from './erased-before.ts';
import { type ErasedCounts, findAbandonedErasure } from './erasing.ts';
import { eraseCustomer, eraseOne } from './erasure.ts';

/** Marks of one statement. */
const pageMarks = 500;

/** What the list of erasures has of an account, and the account's database does not. */
export interface MissingErasures {
	/** The earliest first, each mark once, with its latest time. */
	readonly erasures: readonly ListedErasure[];
	/** How many were made with another secret of the account: nobody can tell whose they are. */
	readonly unknown: number;
}

const nothingMissing: MissingErasures = { erasures: [], unknown: 0 };

/**
 * What a restored database has to erase again.
 * @param list as it was read
 */
export async function missingErasures(
	store: Store,
	{ id, aid, createdAt }: Account,
	list: ReturnType<ErasureList['read']>,
): Promise<MissingErasures> {
	// Another account had the same token before.
	const ofAccount = list.erasures.filter(
		(erasure) => erasure.aid === aid && erasure.atMs >= Date.parse(createdAt),
	);
	if (ofAccount.length === 0) return nothingMissing;
	const secretName = secretNameOf(await store.control.visitorSecret(id));
	const known = ofAccount.filter((erasure) => erasure.secretName === secretName);
	const latest = [...new Map(known.map((erasure) => [erasure.mark, erasure])).values()].sort(
		(one, other) => one.atMs - other.atMs,
	);
	const erasures: ListedErasure[] = [];
	for (let from = 0; from < latest.length; from += pageMarks) {
		const page = latest.slice(from, from + pageMarks);
		const done = await store.read(id, erasedAt(page.map(({ mark }) => mark)));
		erasures.push(...page.filter(({ mark, atMs }) => (done.get(mark) ?? -1) < atMs));
	}
	return { erasures, unknown: ofAccount.length - known.length };
}

/** For people, what is the matter with erasures that nobody can look up. */
export function unknownSentence(aid: string, unknown: number): string {
	return `${counted(unknown, 'erasure')} of ${aid} cannot be looked up: the account had another secret then. Erase them again by hand`;
}

/**
 * Looks whether a backup has brought back what was erased.
 * @param isReadable whether an account's database can be read
 */
export async function* checkErasures(
	store: Store,
	isReadable: (aid: string) => boolean = () => true,
): AsyncIterable<Check> {
	const check = 'erasures';
	const { erasureList } = store;
	if (erasureList.path === undefined) {
		yield { check, ok: true, detail: 'no list of them is kept, see --erasure-list' };
		return;
	}
	const problem = erasureList.problem();
	if (problem !== undefined) {
		yield {
			check,
			ok: false,
			detail: `their list ${erasureList.path} cannot be written (${problem}), so nobody can be erased`,
		};
		return;
	}
	const list = erasureList.read();
	const [missing, unknown]: [string[], string[]] = [[], []];
	for (const account of (await store.control.accounts()).filter(({ aid }) => isReadable(aid))) {
		// Other checks name a database that cannot be read.
		const found = await missingErasures(store, account, list).catch(() => nothingMissing);
		if (found.erasures.length > 0) missing.push(`${found.erasures.length} of ${account.aid}`);
		if (found.unknown > 0) unknown.push(unknownSentence(account.aid, found.unknown));
	}
	const problems = [
		...(missing.length > 0
			? [
					`listed, but not erased in this database: ${listed(missing)}. A backup was restored, or an erasure was interrupted. Run 'caskade visitor erase-again'`,
				]
			: []),
		...unknown,
		...(list.unreadable.length > 0
			? [
					`${erasureList.path} cannot be read in line ${listed(list.unreadable.map(String))}: delete it, if the erasure failed then`,
				]
			: []),
	];
	if (problems.length > 0) yield { check, ok: false, detail: problems.join('; ') };
	else if (list.erasures.length > 0)
		yield {
			check,
			ok: true,
			detail: `all ${list.erasures.length} in the list are erased in this database`,
		};
}

/** How many erasures are missing, of all accounts that can be read. */
export async function countMissing(store: Store): Promise<number> {
	const list = store.erasureList.read();
	if (list.erasures.length === 0) return 0;
	let count = 0;
	for (const account of await store.control.accounts()) {
		const { erasures } = await missingErasures(store, account, list).catch(() => nothingMissing);
		count += erasures.length;
	}
	return count;
}

/** What was found of the missing erasures. */
export interface FoundErasures {
	readonly visitors: number;
	readonly customers: number;
	/** Whom the database does not have. */
	readonly absent: number;
}

/** Whom an account's database has again, of those whose erasures are missing. */
export async function foundAgain(
	store: Store,
	account: Account,
	missing: readonly ListedErasure[],
): Promise<FoundErasures> {
	const erasees = await eraseesOf(store, account.id, missing);
	const visitors = [...erasees.values()].filter((erasee) => 'vid' in erasee).length;
	return { visitors, customers: erasees.size - visitors, absent: missing.length - erasees.size };
}

/** Looks for the marks among all visitors and customers. */
async function eraseesOf(
	store: Store,
	accountId: number,
	missing: readonly ListedErasure[],
): Promise<Map<string, Erasee>> {
	const erasees = new Map<string, Erasee>();
	if (missing.length === 0) return erasees;
	const secret = await store.control.visitorSecret(accountId);
	const wanted = new Set(missing.map(({ mark }) => mark));
	const read = <T>(reading: Reading<T>) => store.read(accountId, reading);
	for await (const vid of everyVisitor(read)) {
		const mark = markOf(secret, vid);
		if (wanted.has(mark)) erasees.set(mark, { vid });
	}
	for await (const cid of everyCustomer(read)) {
		const mark = customerMarkOf(secret, cid);
		if (wanted.has(mark)) erasees.set(mark, { cid });
	}
	return erasees;
}

/** What was erased again. */
export interface ErasedAgain extends FoundErasures, ErasedCounts {}

/**
 * Erases whom a restored backup has brought back, in the order in which they were erased first. Whoever is not there is
 * noted as erased. It may be killed and repeated at any point, and run beside a server.
 * @param onProgress receives how many erasures are done, and of how many
 */
export async function eraseAgain(
	store: Store & Maintenance,
	account: Account,
	list: ReturnType<ErasureList['read']>,
	onProgress: (done: number, total: number) => void = () => {},
): Promise<ErasedAgain> {
	const { id } = account;
	const all = { visitors: 0, customers: 0, absent: 0, hits: 0, visits: 0, events: 0, links: 0 };
	const add = (piece: ErasedCounts) => {
		for (const name of ['hits', 'visits', 'events', 'links'] as const) all[name] += piece[name];
	};
	// Those of a killed run, whose marks are there already; and those that were under way when the backup was made.
	for (;;) {
		const vid = await store.read(id, findAbandonedErasure(Date.now()));
		if (vid === undefined) break;
		await eraseOne(store, id, vid, add);
	}
	const isMissing = async ({ mark, atMs }: ListedErasure) =>
		((await store.read(id, erasedAt([mark]))).get(mark) ?? -1) < atMs;
	let { erasures } = await missingErasures(store, account, list);
	const total = erasures.length;
	// More than once: to erase a customer may take visitors apart, and so bring forth some who were erased later.
	for (let erasees = await eraseesOf(store, id, erasures); erasees.size > 0; ) {
		for (const erasure of erasures) {
			const erasee = erasees.get(erasure.mark);
			// The visitors of a customer are erased with it.
			if (!erasee || !(await isMissing(erasure))) continue;
			const asked = { atMs: erasure.atMs, isAgain: true };
			if ('vid' in erasee) {
				await eraseOne(store, id, erasee.vid, add, asked);
				all.visitors++;
			} else {
				const erased = await eraseCustomer(store, id, erasee.cid, () => {}, asked);
				add(erased);
				all.visitors += erased.vids.length;
				all.customers++;
			}
			onProgress(all.visitors + all.customers, total);
		}
		({ erasures } = await missingErasures(store, account, list));
		erasees = await eraseesOf(store, id, erasures);
	}
	for (let from = 0; from < erasures.length; from += pageMarks) {
		const marks = erasures.slice(from, from + pageMarks).map(
			({ mark, kind, atMs }): ErasedMark => ({
				mark,
				successor: kind === 'visitor' ? randomBytes(16).toString('hex') : '',
				atMs,
			}),
		);
		await store.transact(id, function* () {
			yield [saveMarks(marks)];
		});
	}
	all.absent = erasures.length;
	if (all.visitors + all.customers > 0) {
		await foldAll(store, id);
		await store.purge(id, { rewrite: true });
	}
	return all;
}
