import assert from 'node:assert/strict';
import { test } from 'node:test';
import { showProgress } from '../../../src/kit/cli/progress.ts';

/** What a command writes to a terminal, or to a pipe. */
function stream(isTTY: boolean): NodeJS.WriteStream & { readonly written: string[] } {
	const written: string[] = [];
	return { isTTY, written, write: (text: string) => written.push(text) } as never;
}

test('on a terminal the bar tells what the command waits for, until it goes on', () => {
	const terminal = stream(true);
	const bar = showProgress(terminal, 'rows', false);
	bar.update('uploaded', 1200, 2400);
	bar.waitFor('no answer since 3 s (ECONNREFUSED), trying again');
	bar.waitFor('no answer since 4 s (ECONNREFUSED), trying again');
	bar.update('uploaded', 2400, 2400);
	bar.end();
	const [first, waiting, still, last, end] = terminal.written;
	const half = `[${'#'.repeat(12)}${'.'.repeat(12)}]`;
	assert.equal(first, `\r${half} uploaded: 1,200 of 2,400 rows\u001b[K`);
	assert.equal(waiting, `\r${half} no answer since 3 s (ECONNREFUSED), trying again\u001b[K`);
	assert.match(still as string, /since 4 s/);
	assert.match(last as string, /2,400 of 2,400 rows/);
	assert.equal(end, '\n');
});

test('elsewhere it is a line now and then, also where progress is not shown', () => {
	for (const quiet of [false, true]) {
		const pipe = stream(false);
		const bar = showProgress(pipe, 'rows', quiet);
		bar.update('uploaded', 1, 2);
		bar.waitFor('no answer since 1 s');
		bar.waitFor('no answer since 2 s');
		bar.end();
		assert.deepEqual(pipe.written, [...(quiet ? [] : ['uploaded: 1 of 2 rows\n']), 'no answer since 1 s\n']);
	}
});
