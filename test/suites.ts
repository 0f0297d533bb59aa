import { globSync } from 'node:fs';
import { join } from 'node:path';
import { before } from 'node:test';

const folder = import.meta.dirname;

/** The test files that a pattern names, by their paths in `test/`. */
export function testFiles(pattern: string): string[] {
	return globSync(pattern, { cwd: folder }).sort();
}

/**
 * Runs the test files that a pattern names in this process: most of what a short test costs is to load the server. The
 * files in `test/suites` begin in the order of their names, those that take longest first, so that none is left alone at
 * the end.
 */
export async function runTests(pattern: string): Promise<void> {
	const loaded = Promise.withResolvers<void>();
	// Else the process would be over as soon as all tests of the files so far are.
	before(() => loaded.promise);
	try {
		for (const file of testFiles(pattern)) await import(join(folder, file));
	} finally {
		// Also where a file cannot be loaded, or its error would wait for the tests.
		loaded.resolve();
	}
}
