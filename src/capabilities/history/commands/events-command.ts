import { subscriptionEventFields } from '../../../core/domain/subscription-event.ts';
import { subscriptionEvents } from '../../../core/store/account/reading/stored-events.ts';
import { command, csvOption } from '../../../kit/cli/command.ts';
import { printJson, write } from '../../../kit/cli/output.ts';
import { csvRow } from '../../../kit/format/csv.ts';

const columns = [...subscriptionEventFields, 'receivedAt', 'at'] as const;

export const eventsCommand = command('events', "print an account's stored subscription events")
	.description(
		`Print an account's stored subscription events in order of arrival, one JSON object per line (with --json, one
array; with --csv, a table). They contain customer ids: protect the output like the database.`,
	)
	.option('--tid <tid>', 'only the event with this transaction id')
	.option(...csvOption)
	.conflicts('json')
	.onAccount(async (store, { id }, options) => {
		const events = subscriptionEvents(store, id, { tid: options.tid });
		if (options.json) return printJson(await Array.fromAsync(events));
		if (options.csv) await write(csvRow(columns));
		for await (const event of events)
			await write(
				options.csv ? csvRow(columns.map((column) => event[column])) : `${JSON.stringify(event)}\n`,
			);
	});
