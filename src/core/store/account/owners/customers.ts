import { isMissingKey, missingKeys } from '../../../domain/missing-key.ts';
import type { IsAnothers, ShownCid } from '../../../domain/ownership.ts';
import { type Reading, type Row, select } from '../../steps.ts';
import { isSharedSql } from './shared-keys.ts';

/** No key contains it. */
const separator = '\u001f';
const missing = `'${['', ...missingKeys, ''].join(separator).replaceAll("'", "''")}'`;

/** In SQL: whether a text stands for a missing key. A list with `IN` would be sorted anew in each statement. */
export function isMissingSql(text: string): string {
	return `replace(${missing}, '${separator}' || lower(trim(${text})) || '${separator}', '') <> ${missing}`;
}

/** In SQL: rows of `claim` that show a customer. @param claim the table's name in the statement */
export function showsCustomer(claim: string): string {
	return `${claim}.key >= 'c:' AND ${claim}.key < 'd' AND NOT (${isMissingSql(`substr(${claim}.key, 3)`)})`;
}

/** In SQL: whether a visitor has shown customers. @param vid an expression */
export function hasCustomer(vid: string): string {
	return `EXISTS (SELECT 1 FROM @claim AS shown WHERE shown.vid = ${vid} AND ${showsCustomer('shown')})`;
}

/**
 * In SQL: whether a visitor has shown customers, and this one, whom not too many share, is not among them.
 * @param vid,cid expressions
 */
export function isAnothersSql(vid: string, cid: string): string {
	return `NOT EXISTS (SELECT 1 FROM @claim AS shown WHERE shown.vid = ${vid} AND shown.key = 'c:' || ${cid}) AND ${hasCustomer(vid)} AND NOT ${isSharedSql(`'c:' || ${cid}`)}`;
}

/** Visitors and customers that are not theirs. */
export class Anothers {
	readonly #pairs = new Set<string>();

	/** @param rows with `cid`, the `vid` in a column, and `another`, which is 1 where the visitor is another customer's */
	constructor(rows: readonly Row[] = [], column = 'vid') {
		this.add(rows, column);
	}

	add(rows: readonly Row[], column = 'vid'): this {
		for (const row of rows) if (Number(row.another) === 1) this.#pairs.add(`${row[column]} ${row.cid}`);
		return this;
	}

	get test(): IsAnothers {
		if (this.#pairs.size === 0) return () => false;
		return (vid, cid) => this.#pairs.has(`${vid} ${cid}`);
	}
}

/** The customers that visitors had shown up to a moment. */
export class ShownCids {
	readonly #shown = new Map<string, ShownCid[]>();

	/** @param rows `vid`, `key` and `at` of claims */
	add(rows: readonly Row[]): void {
		for (const { vid, key, at } of rows) {
			const cid = String(key).slice(2);
			if (isMissingKey(cid)) continue;
			this.#shown.getOrInsertComputed(String(vid), () => []).push({ cid, atMs: Number(at) });
		}
	}

	readonly by = (vid: string): readonly ShownCid[] => this.#shown.get(vid) ?? [];

	readonly isAnothers: IsAnothers = (vid, cid) => {
		const shown = this.by(vid);
		return shown.length > 0 && !shown.some((one) => one.cid === cid);
	};
}

/** The rows for `ShownCids` of some visitors. */
export function* shownCidsOf(vids: readonly string[], asOfMs: number): Reading<readonly Row[]> {
	return yield* select`vid, key, at FROM @claim WHERE vid IN ${vids} AND at <= ${asOfMs} AND key >= 'c:' AND key < 'd' /* shown cids */`;
}
