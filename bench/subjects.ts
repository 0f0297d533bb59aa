import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { issueCask } from '../src/access/cask.ts';
import { openStore } from '../src/store/open.ts';
import type { Place } from './place.ts';
import { aidOf } from './rows.ts';

/** Files of casks for load generators, one a line. */
export interface CaskFiles {
	/** Of visitors drawn at random. */
	readonly valid: string;
	/** The same ones, if they had been issued 25 hours ago. */
	readonly expired: string;
	/** The same ones, with another signature. */
	readonly forged: string;
	/** One of each. */
	readonly sample: { readonly valid: string; readonly expired: string; readonly forged: string };
}

/** Ten times what the service remembers, so that most are verified anew. */
export const maxCasks = 50_000;
/** So few that the service remembers all of them. */
export const fewCasks = 4000;

const hourMs = 3_600_000;
let files = 0;

/** Issues casks with the place's own signing key; a server must have run on it. */
export async function writeCasks(place: Place, folder: string): Promise<CaskFiles> {
	const store = await openStore(place.address);
	const { signingKeys } = await store.control.accessSnapshot();
	await store.close();
	const nowMs = Date.now();
	const vids = await place.sampleVids(maxCasks);
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

/** Changes the signature's first character. */
function forge(cask: string): string {
	const at = cask.lastIndexOf('.') + 1;
	return `${cask.slice(0, at)}${cask[at] === 'A' ? 'B' : 'A'}${cask.slice(at + 1)}`;
}
