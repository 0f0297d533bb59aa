import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Vscr } from '../../../client/tag/src/vscr.ts';
import { buildTag, sha256 } from '../../../src/core/collect/build-tag.ts';
import { currentTag, publishedTags } from '../../../src/core/collect/tag-versions.ts';

const folder = new URL('../../../src/core/collect/tag/', import.meta.url);

test('the committed file is built from the source by npm run build:tag', async () => {
	assert.equal(readFileSync(new URL(currentTag, folder), 'utf8'), await buildTag());
});

test('a published version never changes', () => {
	const files = readdirSync(folder).filter((name) => /^tag\.v\d+\.js$/.test(name));
	assert.ok(files.includes(currentTag));
	for (const file of Object.keys(publishedTags)) assert.ok(files.includes(file), `${file} is gone`);
	for (const file of files)
		assert.equal(
			sha256(readFileSync(new URL(file, folder))),
			publishedTags[file],
			`${file} is not as src/core/collect/tag-versions.ts records it; pages that hold on to it must not get another`,
		);
});

test('the commands have types', () => {
	const called: unknown[] = [];
	const vscr = ((...command: unknown[]) => called.push(command)) as unknown as Vscr;
	vscr('setAccount', 'c-a-acme-uk');
	vscr('addEvent', { name: 'checkout', tid: 1234, rvn: 499, currency: 'GBP' });
	vscr('setPage', 'checkout/payment');
	vscr('fire');
	// @ts-expect-error There is no such command.
	vscr('set', 1);
	// @ts-expect-error It is a boolean.
	vscr('setConsent', 'yes');
	assert.equal(called.length, 6);
});

test('under 3 kB gzipped', () => {
	const bytes = gzipSync(readFileSync(new URL(currentTag, folder)), { level: 9 }).length;
	assert.ok(bytes < 3000, `${bytes} bytes`);
});
