import type { Check } from '../../../core/store/maintenance.ts';
import type { Store } from '../../../core/store/store.ts';
import { command } from '../../../kit/cli/command.ts';
import { printJson, printLine } from '../../../kit/cli/output.ts';
import { erasureListSetting } from '../../../kit/config.ts';
import { checkDays } from '../../reports/kept-days.ts';
import { unusableModels, unusableSentence } from '../../training/judge/model-versions.ts';
import { checkErasures } from '../../visitors/store/erasing-again.ts';
import { checkMissingKeys } from './check-missing-keys.ts';
import { checkRenewals } from './check-renewals.ts';

/** Names accounts whose pages are taken for whomever they say. All were so once, without anybody having chosen it. */
async function checkIdTrust({ control }: Pick<Store, 'control'>): Promise<Check[]> {
	const accounts = await control.accounts();
	return accounts
		.filter(({ idTrust }) => idTrust === 'trusted')
		.map(({ aid }) => ({
			check: `ids of ${aid}`,
			ok: true,
			detail: `every cid and tid that a page shows is believed, so whoever guesses one is told what is known of its customer. Unless nobody can guess them: 'caskade account update ${aid} --id-trust claimed', or signed`,
		}));
}

export const doctorCommand = command('doctor', 'check the installation for problems')
	.description(
		`Check disk space, keys, the integrity and schema of every database, the figures kept of past days, keys that
join nobody, ids that are believed of everybody, and whether erasures are missing, as after a restore. Changes nothing. The exit code is 1
if something needs attention.`,
	)
	.setting(...erasureListSetting)
	.onStore(async (store, options) => {
		const checks: Check[] = [];
		const show = (check: Check) => {
			checks.push(check);
			if (!options.json) printLine(`${check.ok ? 'ok  ' : 'CARE'}  ${check.check}: ${check.detail}`);
		};
		const readable = new Set<string>();
		let isServed = false;
		for await (const check of store.runChecks()) {
			isServed ||= check.check === 'server' && check.detail.startsWith('a server runs on this data folder');
			const isOlder = check.detail.includes("run 'caskade migrate'");
			if (check.ok && !isOlder) readable.add(check.check);
			const detail = `${check.detail}. The server has not migrated it: unless it has just started, 'caskade migrate' says why`;
			show(isOlder && isServed ? { ...check, ok: false, detail } : check);
		}
		// What cannot be read was told above, and reading an older schema would migrate it.
		const isReadable = (aid: string) => readable.has(`account ${aid}`);
		for (const look of [checkDays, checkMissingKeys, checkRenewals, checkErasures])
			for await (const check of look(store, isReadable)) show(check);
		for (const check of await checkIdTrust(store)) show(check);
		for (const [aid, models] of Map.groupBy(await unusableModels(store), (model) => model.aid))
			show({ check: `models of ${aid}`, ok: false, detail: unusableSentence(aid, models) });
		if (options.json) printJson(checks);
		if (checks.some((check) => !check.ok)) process.exitCode = 1;
	});
