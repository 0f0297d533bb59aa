import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { ProjectPart } from '../alone.ts';

/**
 * Each capability can be taken away, with those that build on it. `WITHOUT=all` runs all tests that are left, which takes as long as
 * `npm test` for each of them; otherwise those that show that the rest still works.
 */
const isLong = process.env.WITHOUT === 'all';

const list = 'src/assembly/capabilities.ts';
const ofOthers = [
	'test/core/api/{subscription/201,hit/200,visscores/200,segments/200}.test.ts',
	'test/kit/operations/manage/{400,403,lists/403}.test.ts',
	'test/capabilities/*/acts.test.ts',
];

function capabilitiesIn(project: ProjectPart): string[] {
	return project.files('src/capabilities/*/index.ts').map((file) => file.split('/')[2] as string);
}

/** A capability, and all that import it, directly or not. */
function withDependents(project: ProjectPart, capability: string): string[] {
	const gone = [capability];
	for (const one of gone)
		for (const other of capabilitiesIn(project))
			if (
				!gone.includes(other) &&
				project
					.files(`src/capabilities/${other}/**/*.ts`)
					.some((file) => project.importsOf(file).some((path) => path.startsWith(`src/capabilities/${one}/`)))
			)
				gone.push(other);
	return gone;
}

/** The names of their commands, which tests call. */
function commandsOf(project: ProjectPart, capabilities: readonly string[]): string[] {
	return project.files(`src/capabilities/{${capabilities.join()},}/commands/*.ts`).map(
		(file) =>
			file
				.split('/')
				.at(-1)
				?.replace(/(-command)?\.ts$/, '') as string,
	);
}

const all = globSync('*/index.ts', { cwd: join(import.meta.dirname, '../../src/capabilities') }).map((file) =>
	dirname(file),
);

for (const capability of all.sort())
	test(`without ${capability}, and what builds on it, the rest works`, async (t) => {
		const rest = new ProjectPart(t);
		const gone = withDependents(rest, capability);
		t.diagnostic(`gone: ${gone.join(', ')}`);
		const names = commandsOf(rest, gone).join('|') || 'none';
		// As a command, and as a noun of the management API.
		const calls = new RegExp(`\\[\\s*'(${names})'|['\`](${names})[/?]`);
		for (const one of gone) rest.delete(`src/capabilities/${one}`, `test/capabilities/${one}`);
		rest.rewrite(list, (text) =>
			gone.reduce(
				(left, one) =>
					left.replace(new RegExp(`^import .*/${one}/index.ts';\n`, 'm'), '').replace(`\t${one},\n`, ''),
				text,
			),
		);
		rest.delete('test/architecture.test.ts', 'test/suites.test.ts');
		// The command of the client's package is that of history.
		if (gone.includes('history')) rest.delete('client/command.ts');
		rest.delete(...rest.files('test/**/*.ts').filter((file) => calls.test(rest.text(file))));
		rest.pruneTests('test/**');
		const { stdout } = await rest.types();
		const wrong = [...stdout.matchAll(/^(\S+?)\(\d+,\d+\): error .*$/gm)];
		const inTests = /^(test|bench)\//;
		assert.deepEqual(
			wrong.filter(([, file]) => !inTests.test(file as string)).map(([line]) => line),
			[],
		);
		// They name what it has added to the control store.
		rest.delete(...new Set(wrong.map(([, file]) => file as string)));
		const left = rest.pruneTests(isLong ? 'test/suites/*.ts' : `{${ofOthers.join()}}`);
		assert.ok(left.length > 3, `only ${left.join(', ')} are left`);
		const ended = await rest.test(left, { TEST_QUICK: '1' });
		assert.equal(ended.code, 0, ended.stdout + ended.stderr);
	});
