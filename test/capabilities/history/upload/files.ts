import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { caskadeWithin, type Ended } from '../../../process.ts';
import { type ServedAccount, temporaryFolder } from '../../../support.ts';

/** Events as CSV; `change` may spoil a row. */
export function csvOf(count: number, change: (row: number) => string | undefined = () => undefined): string {
	const rows = Array.from(
		{ length: count },
		(_, row) => change(row) ?? `order-${row},sub-${row},customer-${row % 7},newsletter,${row}`,
	);
	return ['tid,subid,cid,evt,rvn', ...rows, ''].join('\n');
}

/** Writes a file into a new folder. @returns its path */
export function fileOf(t: TestContext, text: string, name = 'events.csv'): string {
	const path = join(temporaryFolder(t), name);
	writeFileSync(path, text);
	return path;
}

export function uploadArgs(
	{ url, aid }: ServedAccount,
	path: string,
	more: readonly string[] = [],
): string[] {
	return ['upload', path, '--url', url, '--aid', aid, ...more];
}

/** Uploads a file with the command, in this process. */
export function uploadFile(
	service: ServedAccount,
	path: string,
	more: readonly string[] = [],
): Promise<Ended> {
	return caskadeWithin(uploadArgs(service, path, more), { CASKADE_KEY: service.key });
}
