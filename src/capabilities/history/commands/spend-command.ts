import { OperatorError } from '../../../core/errors.ts';
import { minorUnitOf } from '../../../core/format/currencies.ts';
import { moneyOf } from '../../../core/format/money.ts';
import { counted } from '../../../core/format/numbers.ts';
import { noteDone } from '../../../kit/cli/act-command.ts';
import { command, group } from '../../../kit/cli/command.ts';
import { print } from '../../../kit/cli/output.ts';
import { day } from '../../../kit/format/values.ts';
import { type Spending, saveSpending } from '../../../kit/reading/spending.ts';
import { isErrorCell } from '../changed-ids.ts';
import { otherCurrency } from '../file-currency.ts';
import type { FileRow } from '../file-row.ts';
import { InputFile } from '../input-file.ts';
import { RowFile } from '../row-file.ts';

const rowsPerTransaction = 500;

const importSpending = command('import', 'import daily spending from CSV')
	.description(
		`Import spending from CSV with a header: day (2026-01-31, in the account's time zone), channel, pence, and campaign if it
was spent on one. The column pence has whole pence, or the minor unit of the account's currency. It replaces what was stored for the same day, channel and campaign, so a file may be imported again. If a
line is wrong, nothing is stored.

  day,channel,campaign,pence
  2026-01-31,paid search,brand,125000`,
	)
	.argument('<file>', 'CSV')
	.onAccount(async (store, { aid, id, currency }, options, file) => {
		const rows = await readSpending(file, currency);
		for (let from = 0; from < rows.length; from += rowsPerTransaction)
			await store.transact(id, () => saveSpending(rows.slice(from, from + rowsPerTransaction)));
		await noteDone(store, 'spending imported', aid);
		const pence = rows.reduce((sum, row) => sum + row.pence, 0);
		print(
			options,
			{ aid, rows: rows.length, pence },
			`${counted(rows.length, 'row')} of spending, ${moneyOf(currency)(pence)} in all.`,
		);
	});

export const spendCommand = group(
	'spend',
	'what was spent on channels and campaigns',
	"What was spent on channels and campaigns, for 'caskade report spend'.",
	[importSpending],
);

/** @throws OperatorError that names the first wrong lines */
async function readSpending(file: string, currency: string): Promise<Spending[]> {
	const problems: string[] = [];
	const rows = new Map<string, Spending>();
	for await (const { line, fields, problem } of readRows(file)) {
		try {
			if (problem !== undefined) throw new OperatorError(`${problem}.`);
			const [foreign] = otherCurrency(fields as object, currency);
			if (foreign !== undefined) throw new OperatorError(`${foreign}.`);
			const row = toSpending(fields, currency);
			const name = JSON.stringify([row.day, row.channel, row.campaign]);
			if (rows.has(name)) throw new OperatorError('the same day, channel and campaign occur twice.');
			rows.set(name, row);
		} catch (error) {
			problems.push(`line ${line}: ${(error as Error).message}`);
		}
	}
	if (problems.length === 0) return [...rows.values()];
	const others = problems.length > 10 ? ` And ${problems.length - 10} more.` : '';
	throw new OperatorError(`${file}: ${problems.slice(0, 10).join(' ')}${others} Nothing is stored.`);
}

async function* readRows(file: string): AsyncGenerator<FileRow> {
	using input = InputFile.open(file);
	const rows = new RowFile({
		name: input.name,
		columns: ['day', 'channel', 'pence'],
		reads: ['day', 'channel', 'campaign', 'pence'],
	});
	for await (const chunk of input.chunks()) yield* rows.push(chunk);
	yield* rows.end();
}

function toSpending(fields: unknown, currency: string): Spending {
	const textOf = (name: string) => String((fields as Record<string, unknown> | null)?.[name] ?? '').trim();
	const [channel, campaign, pence] = [textOf('channel'), textOf('campaign'), textOf('pence')];
	if (!/^\P{C}{1,255}$/u.test(channel)) throw new OperatorError('channel must have 1 to 255 characters.');
	if (!/^\P{C}{0,255}$/u.test(campaign))
		throw new OperatorError('campaign must have at most 255 characters.');
	if (isErrorCell(channel) || isErrorCell(campaign))
		throw new OperatorError('channel and campaign must be no errors of a spreadsheet, such as #N/A.');
	if (!/^\d{1,12}$/.test(pence))
		throw new OperatorError(`pence must be a whole number of ${minorUnitOf(currency)}.`);
	return { day: day(textOf('day')), channel, campaign, pence: Number(pence) };
}
