import { once } from 'node:events';
import { csvOption } from '../config.ts';
import { subscriptionEventFields } from '../domain/subscription-event.ts';
import { csvRow } from '../format/csv.ts';
import { subscriptionEvents } from '../store/account/reading/events.ts';
import { aidArgument } from './aid-argument.ts';
import { Command } from './command.ts';
import { type CommonOptions, printJson } from './output.ts';

const columns = [...subscriptionEventFields, 'receivedAt'] as const;

export function eventsCommand(): Command {
	return new Command('events')
		.summary("print an account's stored subscription events")
		.description(
			`Print an account's stored subscription events in order of arrival, one JSON object per line (with --json, one
			array; with --csv, a table). They contain customer ids: protect the output like the database.`,
		)
		.addArgument(aidArgument())
		.option('--tid <tid>', 'only the event with this transaction id')
		.addOption(csvOption().conflicts('json'))
		.onAccount(async (store, { id }, options: CommonOptions & { tid?: string; csv?: boolean }) => {
			const events = subscriptionEvents(store, id, { tid: options.tid });
			if (options.json) return printJson(await Array.fromAsync(events));
			if (options.csv) process.stdout.write(csvRow(columns));
			for await (const event of events) {
				const line = options.csv
					? csvRow(columns.map((column) => event[column]))
					: `${JSON.stringify(event)}\n`;
				if (!process.stdout.write(line)) await once(process.stdout, 'drain');
			}
		});
}
