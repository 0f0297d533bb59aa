import { Option } from 'commander';
import { refusing, wholeNumber } from '../config.ts';
import { emailAddress } from '../format/values.ts';
import { Command } from './command.ts';
import { type CommonOptions, print } from './output.ts';

interface ListOptions extends CommonOptions {
	readonly account?: string;
	readonly user?: string;
	readonly about?: string;
	readonly limit: number;
}

export function auditCommand(): Command {
	const command = new Command('audit')
		.summary('who looked at whom')
		.description('Read who looked at whom in the console, and who changed what. It is kept for 400 days.');
	command
		.command('list')
		.summary('list what people did')
		.description(
			'List what people did in the console, and which people and roles commands changed, the latest first. Of an erased visitor only stays that somebody did something with one.',
		)
		.option('--account <aid>', 'only what concerns this account')
		.addOption(new Option('--user <email>', 'only what this person did').argParser(refusing(emailAddress)))
		.option('--about <id>', 'only what concerns this visitor, key or person')
		.addOption(
			new Option('--limit <number>', 'maximum number to list').default(50).argParser(wholeNumber(1, 10_000)),
		)
		.onStore(async (store, options: ListOptions) => {
			const { account: aid, user: who, about, limit } = options;
			const entries = await store.control.audit.list({ aid, who, about, limit });
			print(options, entries, 'Nothing yet.');
		});
	return command;
}
