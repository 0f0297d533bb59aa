#!/usr/bin/env node
// Plain JavaScript: a Node too old for the command must still be able to say so. The library runs on older ones.
import process from 'node:process';

const oldestMajor = 26;

if (Number.parseInt(process.versions.node, 10) < oldestMajor) {
	process.stderr.write(
		`caskade-client: Node ${process.versions.node} is too old, the command needs Node ${oldestMajor} or newer.\n`,
	);
	process.exitCode = 1;
} else {
	const { run } = await import('./command.ts');
	await run(process.argv);
}
