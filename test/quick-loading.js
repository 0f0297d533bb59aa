// Preloaded into every process and thread of a test run, since most of what a short test costs is loading modules.
import module from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

const folder = join(tmpdir(), 'node-compile-cache');
process.env.NODE_COMPILE_CACHE ??= folder;
// Absent from the old versions of Node that a test or npm may run.
module.enableCompileCache?.(folder);

/** A module of the project, whose file is where it says: nothing to look for. */
const own = /^\.\.?\/.*\.ts$/;

/** Files by what is imported instead of them; set by `test/before-all.ts`. */
const bundles = JSON.parse(process.env.TEST_BUNDLES ?? '{}');
module.registerHooks?.({
	resolve: (specifier, context, nextResolve) =>
		Object.hasOwn(bundles, specifier)
			? { url: bundles[specifier], format: 'module', shortCircuit: true }
			: own.test(specifier) && context.parentURL?.startsWith('file:')
				? { url: new URL(specifier, context.parentURL).href, format: 'module-typescript', shortCircuit: true }
				: nextResolve(specifier, context),
});
