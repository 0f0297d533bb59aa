import { command, group } from '../../../kit/cli/command.ts';
import { print } from '../../../kit/cli/output.ts';
import { emailAddress, wholeNumber } from '../../../kit/format/values.ts';

const list = command('list', 'list what people did')
	.description(
		'List what was changed, and which personal data was shown or exported, in the console, by commands or by programs, the latest first. Refusals are listed, too. Of erased visitors it says only that somebody did something with one.',
	)
	.option('--account <aid>', 'only what concerns this account')
	.option('--user <email>', 'only what this person did', emailAddress)
	.option('--about <id>', 'only what concerns this visitor, key or person')
	.option('--limit <number>', 'maximum number to list', wholeNumber(1, 10_000), 50)
	.onStore(async (store, options) => {
		const { account: aid, user: who, about, limit } = options;
		print(options, await store.control.audit.list({ aid, who, about, limit }), 'Nothing yet.');
	});

export const auditCommand = group(
	'audit',
	'who changed what, and who looked at whom',
	'Read who changed what, by command, form or program, and who looked at whose data. Entries are kept for 400 days.',
	[list],
);
