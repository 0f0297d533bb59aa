import { once } from 'node:events';
import { Command } from '../config.ts';
import { type CommonOptions, printJson, withStore } from './output.ts';

export function eventsCommand(): Command {
	return new Command('events')
		.summary("print an account's stored subscription events")
		.description(
			`Print an account's stored subscription events in order of arrival, one JSON object per line (with --json, one
			array). They contain customer ids: protect the output like the database.`,
		)
		.argument('<aid>', 'account token')
		.option('--tid <tid>', 'only the event with this transaction id')
		.addCommonOptions()
		.action((aid: string, options: CommonOptions & { tid?: string }) =>
			withStore(options, async (store) => {
				const { id } = await store.control.account(aid);
				await store.read(id, async (reader) => {
					const events = reader.subscriptionEvents({ tid: options.tid });
					if (options.json) return printJson(await Array.fromAsync(events));
					for await (const event of events)
						if (!process.stdout.write(`${JSON.stringify(event)}\n`)) await once(process.stdout, 'drain');
				});
			}),
		);
}
