import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayMs } from '../../../src/core/durations.ts';
import { assertMisused, caskadeWithin } from '../../process.ts';
import { serveHere } from '../../serve-here.ts';
import { temporaryFolder } from '../../support.ts';

test('/.well-known/security.txt names whom the operator has named, at the root of the site', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	for (const [given, contact] of [
		['security@example.com', 'mailto:security@example.com'],
		['https://example.com/security', 'https://example.com/security'],
	] as const) {
		await using server = await serveHere([...at, '--base-path', '/api', '--security-contact', given]);
		const answer = await fetch(new URL('/.well-known/security.txt', server.url));
		assert.equal(answer.status, 200);
		assert.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8');
		const [, says, expires = ''] = /^Contact: (.+)\nExpires: (.+)\n$/.exec(await answer.text()) ?? [];
		assert.equal(says, contact);
		const days = (Date.parse(expires) - Date.now()) / dayMs;
		assert.ok(days > 179 && days <= 180, expires);
	}
});

test('without a contact there is none, and no text is taken for one', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	{
		await using server = await serveHere(at);
		assert.equal((await fetch(`${server.url}/.well-known/security.txt`)).status, 404);
	}
	for (const wrong of ['security', 'http://example.com', 'security@example.com, other', 'a@b Policy: x'])
		assertMisused(
			await caskadeWithin(['serve', ...at, '--security-contact', wrong]),
			/It must be an email address or an https URL/,
		);
});
