import { OperatorError } from '../../core/errors.ts';
import { listed } from '../../core/format/numbers.ts';
import type { Right } from '../person.ts';
import type { FlatRow } from '../reports/report.ts';
import { rowsCsv } from '../reports/report-table.ts';
import { download } from './exchange.ts';
import { type AccountRequest, accountPage, type ConsolePage } from './page.ts';

type MakeText = (asked: AccountRequest) => Promise<string>;

/**
 * Files beneath a page of an account, by their names, which end with .csv or .json. Those of persons can be asked for by the
 * form that takes a proof, too, and write into the audit log that they were exported.
 */
export function filePage(
	path: string,
	right: Right,
	title: string,
	files: Readonly<Record<string, MakeText>>,
	{ isOfPersons = false } = {},
): ConsolePage {
	const get = async (asked: AccountRequest) => {
		const { vid, file = '' } = asked.parts;
		const make = Object.hasOwn(files, file) && files[file];
		if (!make) throw new OperatorError(`There is no file ${file}; there are ${listed(Object.keys(files))}.`);
		return download([asked.account.aid, vid, file].filter(Boolean).join('-'), await make(asked));
	};
	return accountPage({
		path: `${path}/:file`,
		title,
		right,
		get,
		...(isOfPersons && { actions: { download: get }, demands: { get: 'proof' } }),
	});
}

export function json(value: unknown): string {
	return JSON.stringify(value, undefined, 2);
}

/** Rows as two files of a name. */
export function tableFiles(
	name: string,
	rowsOf: (asked: AccountRequest) => Promise<readonly FlatRow[]>,
): Record<string, MakeText> {
	return {
		[`${name}.csv`]: async (asked) => rowsCsv(await rowsOf(asked)),
		[`${name}.json`]: async (asked) => json(await rowsOf(asked)),
	};
}
