import { subscriptionEventFields } from '../../../core/domain/subscription-event.ts';
import { subscriptionEvents } from '../../../core/store/account/reading/stored-events.ts';
import { vidsAfter } from '../../../core/store/account/reading/visitors.ts';
import type { Store } from '../../../core/store/store.ts';
import { noteDone } from '../../../kit/cli/act-command.ts';
import { aidText, command, csvOption } from '../../../kit/cli/command.ts';
import { withStore, write } from '../../../kit/cli/output.ts';
import { databaseSetting, stageSetting } from '../../../kit/config.ts';
import { csvRow } from '../../../kit/format/csv.ts';
import { visitorRecord } from '../../../kit/reading/visitor-record.ts';

const pageVisitors = 500;
/** A hit may show a `cid`, too. */
const hitColumns = [
	...['visitor', 'visit', 'url', 'referrer', 'title', 'events', 'channel', 'source', 'isByApp'],
	...['device', 'cid', 'isCidUnproven'],
];
const columns = [...new Set(['type', 'at', ...hitColumns, ...subscriptionEventFields])];

type Line = Readonly<Record<string, unknown>>;

export const exportCommand = command('export', "print an account's hits and subscription events, for import")
	.description(
		`Print all hits and subscription events of an account in the form that 'caskade import' takes: one JSON object per line or,
with --csv, one row. Imported into an empty account, they give the same visits, joins, profiles and reports. Visitors get
other vids there. The output is personal data: protect it like the database.

  caskade export c-a-acme-uk > acme.ndjson
  caskade import c-a-acme-copy acme.ndjson`,
	)
	.argument('<aid>', aidText)
	.option(...csvOption)
	.setting(...databaseSetting)
	.setting(...stageSetting)
	.action((options, _, aid) =>
		withStore(options, async (store) => {
			const { id } = await store.control.account(aid);
			await noteDone(store, 'history exported', aid);
			if (options.csv) await write(csvRow(columns));
			for await (const line of linesOf(store, id))
				await write(options.csv ? rowOf(line) : `${JSON.stringify(line)}\n`);
		}),
	);

/** One line at a time, so that an account of any size fits in memory. */
async function* linesOf(store: Store, accountId: number): AsyncGenerator<Line> {
	for (let last: string | undefined = ''; last !== undefined; ) {
		const vids: readonly string[] = await store.read(accountId, vidsAfter(last, pageVisitors));
		for (const vid of vids) {
			const record = await store.read(accountId, visitorRecord(vid));
			for (const { at, sid, page: _, ...body } of record?.hits ?? [])
				yield withoutNulls({ type: 'hit', at, visitor: vid, visit: sid, ...body });
		}
		last = vids.at(-1);
	}
	for await (const { receivedAt, ...event } of subscriptionEvents(store, accountId))
		yield withoutNulls({ type: 'subscription', at: receivedAt, ...event });
}

function withoutNulls(fields: object): Line {
	return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** Events are JSON, all else is text or a number. Exact, for import: nothing is escaped for spreadsheets. */
function rowOf(line: Line): string {
	return csvRow(
		columns.map((column) => {
			const value = line[column] as string | number | true | readonly object[] | undefined;
			if (typeof value !== 'object') return value === true ? 'true' : value;
			return value.length === 0 ? null : JSON.stringify(value);
		}),
	);
}
