import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';

const made = new Map<string, unknown>();

/**
 * What many tests need, takes seconds to make and is the same every time: made once, and shared by all test processes of
 * a run through its folder, which `test/before-all.ts` makes.
 */
export function once<Made>(name: string, make: () => Made): Made {
	if (!made.has(name)) made.set(name, readOrMake(name, make));
	return made.get(name) as Made;
}

function readOrMake<Made>(name: string, make: () => Made): Made {
	const folder = process.env.TEST_RUN_FOLDER;
	if (!folder) return make();
	const path = join(folder, name);
	if (existsSync(path)) return deserialize(readFileSync(path));
	const fresh = make();
	const unfinished = `${path}.${process.pid}`;
	writeFileSync(unfinished, serialize(fresh));
	renameSync(unfinished, path);
	return fresh;
}
