import type { Check } from '../../core/store/maintenance.ts';
import type { OpenStore, Store } from '../../core/store/store.ts';
import { checkDays } from '../reports/day-figures.ts';
import { unusableModels, unusableSentence } from '../training/judge/model-versions.ts';
import { checkErasures } from '../visitors/store/erasing-again.ts';
import { checkMissingKeys } from './check-missing-keys.ts';
import { checkRenewals } from './check-renewals.ts';

/** All that can be wrong with an installation. Changes nothing. */
export async function* checkInstallation(store: OpenStore): AsyncIterable<Check> {
	const readable = new Set<string>();
	let isServed = false;
	for await (const check of store.runChecks()) {
		isServed ||= check.check === 'server' && check.detail.startsWith('a server runs on this data folder');
		const isOlder = check.detail.includes("run 'caskade migrate'");
		if (check.ok && !isOlder) readable.add(check.check);
		const detail = `${check.detail}. The server has not migrated it: unless it has just started, 'caskade migrate' says why`;
		yield isOlder && isServed ? { ...check, ok: false, detail } : check;
	}
	// What cannot be read was told above, and reading an older schema would migrate it.
	const isReadable = (aid: string) => readable.has(`account ${aid}`);
	for (const look of [checkDays, checkMissingKeys, checkRenewals, checkErasures])
		yield* look(store, isReadable);
	yield* await checkIdTrust(store);
	for (const [aid, models] of Map.groupBy(await unusableModels(store), (model) => model.aid))
		yield { check: `models of ${aid}`, ok: false, detail: unusableSentence(aid, models) };
}

/** Names accounts whose pages are taken for whomever they say. All were so once, without anybody having chosen it. */
async function checkIdTrust({ control }: Pick<Store, 'control'>): Promise<Check[]> {
	const accounts = await control.accounts();
	return accounts
		.filter(({ idTrust }) => idTrust === 'trusted')
		.map(({ aid }) => ({
			check: `ids of ${aid}`,
			ok: true,
			isNote: true,
			detail: `every cid and tid that a page shows is believed, so whoever guesses one is told what is known of its customer. Unless nobody can guess them: 'caskade account update ${aid} --id-trust claimed', or signed`,
		}));
}
