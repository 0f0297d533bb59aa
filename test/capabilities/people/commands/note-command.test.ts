import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caskade, caskadeJson } from '../../../process.ts';
import { temporaryFolder } from '../../../support.ts';

test('notes on days are written, listed and removed', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}/data`];
	const json = (...args: string[]) => caskadeJson([...args, ...at]);
	await json('account', 'create', 'c-a-acme', '--client', 'acme');
	assert.deepEqual(await json('note', 'add', 'c-a-acme', '2026-03-29', '--text', 'A sale'), {
		day: '2026-03-29',
		text: 'A sale',
	});
	const [note] = (await json('note', 'list', 'c-a-acme')) as {
		id: string;
		day: string;
		text: string;
		who: string;
	}[];
	assert.deepEqual([note?.day, note?.text], ['2026-03-29', 'A sale']);
	assert.match(note?.who ?? '', /^command line/);
	const wrong = await caskade(['note', 'add', 'c-a-acme', '29 March', '--text', 'A sale', ...at]);
	assert.match(wrong.stderr, /29 March is not a date; write it like 2026-01-31/);
	assert.deepEqual(await json('note', 'remove', 'c-a-acme', note?.id ?? ''), { removed: note?.id });
	assert.deepEqual(await json('note', 'list', 'c-a-acme'), []);
	const gone = await caskade(['note', 'remove', 'c-a-acme', note?.id ?? '', ...at]);
	assert.match(gone.stderr, /no such note/);
	const entries = (await json('audit', 'list', '--account', 'c-a-acme')) as { action: string }[];
	assert.deepEqual(
		entries.map(({ action }) => action),
		['refused: note remove', 'note removed', 'note added'],
	);
});
