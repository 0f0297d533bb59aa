import { once } from 'node:events';
import { Command, databaseOption, stageOption } from '../config.ts';
import { visitorRecord } from '../store/account/visitor-record.ts';
import type { Store } from '../store/store.ts';
import { type CommonOptions, withStore } from './output.ts';

const pageVisitors = 500;

export function exportCommand(): Command {
	return new Command('export')
		.summary("print an account's hits and subscription events, as import takes them")
		.description(
			`Print all hits and subscription events of an account, one JSON object a line, as 'caskade import' takes them: imported
into an empty account, they give the same visits, joins, profiles and reports. Visitors get other vids there. The lines
are personal data, as the database is.

  caskade export c-a-acme-uk > acme.ndjson
  caskade import c-a-acme-copy acme.ndjson`,
		)
		.argument('<aid>', 'account token')
		.addOption(databaseOption())
		.addOption(stageOption())
		.action((aid: string, options: CommonOptions) =>
			withStore(options, async (store) => {
				const { id } = await store.control.account(aid);
				for await (const line of linesOf(store, id))
					if (!process.stdout.write(`${JSON.stringify(line)}\n`)) await once(process.stdout, 'drain');
			}),
		);
}

async function* linesOf(store: Store, accountId: number): AsyncGenerator<object> {
	for (let last: string | undefined = ''; last !== undefined; ) {
		const after: string = last;
		const vids = await store.read(accountId, (reader) => reader.vidsAfter(after, pageVisitors));
		for (const vid of vids) {
			const record = await store.runReadOnly(accountId, visitorRecord(vid));
			for (const { at, sid, page: _, ...body } of record?.hits ?? [])
				yield withoutNulls({ type: 'hit', at, visitor: vid, visit: sid, ...body });
		}
		last = vids.at(-1);
	}
	const events = await store.read(accountId, (reader) => Array.fromAsync(reader.subscriptionEvents()));
	for (const { receivedAt, ...event } of events)
		yield withoutNulls({ type: 'subscription', at: receivedAt, ...event });
}

function withoutNulls(fields: object): object {
	return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
