import { existsSync } from 'node:fs';
import { OperatorError } from '../../../core/errors.ts';
import { counted } from '../../../core/format/numbers.ts';
import type { OpenStore } from '../../../core/store/store.ts';
import { noteDone } from '../../../kit/cli/act-command.ts';
import { command } from '../../../kit/cli/command.ts';
import { confirm, requireTerminal } from '../../../kit/cli/confirm.ts';
import { print } from '../../../kit/cli/output.ts';
import { showProgress } from '../../../kit/cli/progress.ts';
import { erasureListSetting } from '../../../kit/config.ts';
import {
	type ErasedAgain,
	eraseAgain,
	type FoundErasures,
	foundAgain,
	missingErasures,
	unknownSentence,
} from '../store/erasing-again.ts';

export const eraseAgainCommand = command(
	'erase-again',
	'erase again those whom a restored backup has brought back',
)
	.description(
		`After a restore, erase those whom the backup has brought back: the visitors and customers that are in the list of erasures, and not
yet erased in this database. The list has no ids: every visitor and customer is compared with it. Events of a customer that have
arrived after its erasure stay as they are. If it is interrupted, run it again, and it goes on. Without AID, it looks
through all accounts. 'caskade doctor' says whether it is needed.`,
	)
	.argument('[aid]', 'only this account')
	.option('--dry-run', 'only print whom it would erase')
	.option('--yes', 'erase without asking')
	.setting(...erasureListSetting)
	.onStore(async (store, options, aid) => {
		const { dryRun = false, yes = false, json = false } = options;
		if (!dryRun && !yes) requireTerminal('--yes, or --dry-run to see whom it would erase');
		const list = readList(store);
		const accounts = aid === undefined ? await store.control.accounts() : [await store.control.account(aid)];
		const found: ({ aid: string } & FoundErasures)[] = [];
		for (const account of accounts) {
			const { erasures, unknown } = await missingErasures(store, account, list);
			if (unknown > 0) process.stderr.write(`${unknownSentence(account.aid, unknown)}\n`);
			if (erasures.length > 0)
				found.push({ aid: account.aid, ...(await foundAgain(store, account, erasures)) });
		}
		if (dryRun || found.length === 0) return print(options, found, nothingAgain);
		const sum = (name: keyof FoundErasures) => found.reduce((total, one) => total + one[name], 0);
		if (!yes && sum('visitors') + sum('customers') > 0)
			await confirm(
				`${counted(sum('visitors'), 'visitor')} and ${counted(sum('customers'), 'customer')} are erased again. It cannot be undone.`,
				'yes',
			);
		const progress = showProgress(process.stderr, 'erasures', json);
		const erased: ({ aid: string } & ErasedAgain)[] = [];
		try {
			for (const account of accounts.filter((one) => found.some((each) => each.aid === one.aid))) {
				await noteDone(store, 'erased again', account.aid);
				erased.push({
					aid: account.aid,
					...(await eraseAgain(store, account, list, (done, total) =>
						progress.update(`erase again ${account.aid}`, done, total),
					)),
				});
			}
		} finally {
			progress.end();
		}
		print(options, erased, nothingAgain);
	});

const nothingAgain = 'Nothing is to be erased again.';

/** @throws OperatorError where none is kept */
function readList(store: OpenStore) {
	const { path } = store.erasureList;
	if (path === undefined)
		throw new OperatorError('No list of erasures is kept: name its file with --erasure-list.');
	if (!existsSync(path))
		throw new OperatorError(`There is no list of erasures ${path}: nothing was erased, or it is elsewhere.`);
	return store.erasureList.read();
}
