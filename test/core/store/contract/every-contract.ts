import { globSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine } from '../engines.ts';

/** What the other files of this folder export. */
const parts = await Promise.all(
	globSync('*.ts', { cwd: import.meta.dirname, exclude: ['every-contract.ts'] })
		.sort()
		.map((file) => import(join(import.meta.dirname, file))),
);

/** One contract, to be run over every engine. */
export function everyContract(engine: Engine): void {
	for (const [name, run] of parts.flatMap((part) => Object.entries(part)))
		if (name.endsWith('Contract')) (run as (engine: Engine) => void)(engine);
}
