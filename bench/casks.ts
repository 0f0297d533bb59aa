import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '../src/assembly/open-store.ts';
import { issueCask } from '../src/core/access/cask.ts';
import { hourMs } from '../src/core/durations.ts';
import type { BenchDatabase } from './database.ts';
import { aidOf } from './upload-bodies.ts';

/** Files of casks for load generators, one cask per line. */
export interface CaskFiles {
	/** Casks of random visitors. */
	readonly valid: string;
	/** Casks of the same visitors, issued 25 hours ago. */
	readonly expired: string;
	/** The valid casks with a wrong signature. */
	readonly forged: string;
	/** The first cask of each file. */
	readonly sample: { readonly valid: string; readonly expired: string; readonly forged: string };
}

/** Five times the capacity of the service's cache (`access/cask-verifier.ts`), so that most are verified again. */
export const maxCasks = 50_000;
/** Few enough for the service's cache. */
export const fewCasks = 4000;

let files = 0;

/** Issues casks with the database's signing key, which the first start of a server creates. */
export async function writeCasks(database: BenchDatabase, folder: string): Promise<CaskFiles> {
	const store = await openStore(database.address);
	const { signingKeys } = await store.control.accessSnapshot();
	await store.close();
	const nowMs = Date.now();
	const vids = await database.sampleVids(maxCasks);
	const casks = (atMs: number) =>
		vids.map((vid) => issueCask(signingKeys, { aid: aidOf(1), scope: 'vid', subject: vid }, atMs).cask);
	const [valid, expired] = [casks(nowMs), casks(nowMs - 25 * hourMs)];
	const forged = valid.map(forge);
	files++;
	const write = (name: string, lines: readonly string[]) => {
		const path = join(folder, `${name}-${files}.txt`);
		writeFileSync(path, `${lines.join('\n')}\n`);
		return path;
	};
	return {
		valid: write('valid', valid),
		expired: write('expired', expired),
		forged: write('forged', forged),
		sample: { valid: valid[0] ?? '', expired: expired[0] ?? '', forged: forged[0] ?? '' },
	};
}

/** Changes the first character of the signature. */
function forge(cask: string): string {
	const at = cask.lastIndexOf('.') + 1;
	return `${cask.slice(0, at)}${cask[at] === 'A' ? 'B' : 'A'}${cask.slice(at + 1)}`;
}
