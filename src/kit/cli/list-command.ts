import type { Listing } from '../listing.ts';
import { command } from './command.ts';
import { print } from './output.ts';

/** The command of a list. */
export const listCommand = ({ summary, read, empty }: Listing) =>
	command('list', summary).onAccount(async (store, account, options) =>
		print(options, await read(store, account), empty(account)),
	);
