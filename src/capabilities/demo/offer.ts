import { resolve } from 'node:path';
import type { ListeningServer, Server } from '../../core/api/serving-part.ts';
import { printLine } from '../../kit/cli/output.ts';
import { demoAid, demoLink, demoPerson, openDemoAccount, uploadLine } from './demo-account.ts';

/**
 * Begins with an account where there is none, and says what to do.
 * @returns a link that signs in to the console
 */
export async function offerDemo(
	{ store, directory }: Server,
	{ url, consoleUrl, database, flags: at }: ListeningServer,
): Promise<string | undefined> {
	if (!(await store.control.hasClients())) {
		const { account, key } = await openDemoAccount(store, demoAid);
		await directory.refresh();
		const [, folder] = /^sqlite:(.*)/.exec(database) ?? [];
		const place = folder === undefined ? '' : ` All data is in ${resolve(folder)}.`;
		if (key)
			printLine(`
There were no clients yet, so there is now a client '${account.client}' with the account ${demoAid}.${place}
Upload an event to it from another terminal (the key is shown this once):

${uploadLine(url, demoAid, key)}

Generate visitors to score: bin/caskade demo${at}`);
	}
	if (consoleUrl === undefined) return undefined;
	const link = await demoLink(store, new URL(consoleUrl).origin);
	if (link)
		printLine(`
See it in the console. This link signs you in once, within 15 minutes; for another: bin/caskade user link ${demoPerson}${at}

${link}
`);
	return link;
}
