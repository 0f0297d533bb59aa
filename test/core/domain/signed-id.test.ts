import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readShownId, signId } from '../../../src/core/domain/signed-id.ts';

const secret = 'caskade_identity_test';
const now = 1_000;
const of = (
	shown: string,
	kind: 'cid' | 'tid' = 'cid',
	previous: { secret: string; untilMs: number } | null = null,
) => readShownId(shown, kind, { secret, previous }, now);

test('an id with its signature is that id', () => {
	for (const id of ['customer-42', 'a', 'ümlaut ✓', 'with~tilde', `${'f'.repeat(3)}~${'0'.repeat(64)}`])
		assert.deepEqual(of(signId(secret, 'cid', id)), { id, signature: 'right' });
});

test('the signature is HMAC-SHA-256 of the kind, a colon and the id', () => {
	assert.equal(
		signId(secret, 'cid', 'customer-42'),
		'customer-42~12e3b490a7ddeead41974fec69ec5209c72067a2c19093624df479e9f492862e',
	);
});

test('a signature of another id, of another kind, or by another secret is wrong, and is taken away', () => {
	const wrong = [
		`customer-43~${signId(secret, 'cid', 'customer-42').split('~')[1]}`,
		signId(secret, 'tid', 'customer-43'),
		signId('another', 'cid', 'customer-43'),
		`customer-43~${'0'.repeat(64)}`,
	];
	for (const shown of wrong) assert.deepEqual(of(shown), { id: 'customer-43', signature: 'wrong' });
	assert.deepEqual(readShownId(signId(secret, 'cid', 'customer-43'), 'cid', null, now), {
		id: 'customer-43',
		signature: 'wrong',
	});
});

test('an id without a signature stays as it is', () => {
	const plain = [
		'customer-42',
		'~',
		`~${'0'.repeat(64)}`,
		'a~b',
		`a~${'0'.repeat(63)}`,
		`a~${'x'.repeat(64)}`,
	];
	for (const id of plain) assert.deepEqual(of(id), { id, signature: 'none' });
});

test('the previous secret counts until its time', () => {
	const shown = signId('before', 'cid', 'customer-42');
	assert.equal(of(shown, 'cid', { secret: 'before', untilMs: now + 1 }).signature, 'right');
	assert.equal(of(shown, 'cid', { secret: 'before', untilMs: now }).signature, 'wrong');
});
