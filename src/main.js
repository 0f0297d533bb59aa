#!/usr/bin/env node
// Plain JavaScript on purpose: a Node too old to run TypeScript must still be able to say so.
// (`main.ts` is a link to this file, so that `node src/main.ts` says it too.)
import process from 'node:process';

const oldestMajor = 26;
const { node, bun, deno } = process.versions;
const other = (bun && 'Bun') || (deno && 'Deno');
if (other || Number.parseInt(node, 10) < oldestMajor) {
	process.stderr.write(
		`caskade: ${other ? `${other} cannot run it` : `Node ${node} is too old`}, Caskade needs Node ${oldestMajor} or newer: use 'npm start' or 'bin/caskade …' after 'npm ci', which bring their own.\n`,
	);
	process.exitCode = 1;
} else {
	const { enableCompileCache } = await import('node:module');
	const { directory } = enableCompileCache();
	// Threads look for it there alone; without it a server's start takes twice as long.
	if (directory) process.env.NODE_COMPILE_CACHE = directory;
	const { run } = await import('./assembly/cli/caskade.ts');
	await run(process.argv);
	// A command that has failed is over, whatever it has left open. A server that runs has no exit code yet.
	if (process.exitCode) process.stdout.write('', () => process.stderr.write('', () => process.exit()));
}
