import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
	hashRecoveryCode,
	newRecoveryCodes,
	newTotpSecret,
	otpauthLink,
	stepAt,
	stepOf,
	totpCode,
} from '../../../../src/capabilities/people/access/second-factor.ts';

test('codes are those of RFC 6238, appendix B', () => {
	const secret = Buffer.from('12345678901234567890');
	const vectors = [
		[59, '94287082'],
		[1_111_111_109, '07081804'],
		[1_111_111_111, '14050471'],
		[1_234_567_890, '89005924'],
		[2_000_000_000, '69279037'],
		[20_000_000_000, '65353130'],
	] as const;
	for (const [seconds, code] of vectors) assert.equal(totpCode(secret, stepAt(seconds * 1000), 8), code);
});

test('a code is found by its step, half a minute early or late, and not a minute late', () => {
	// The secret of the vectors, as apps are given it.
	const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
	const step = stepAt(1_111_111_109_000);
	const at = (steps: number) => (step + steps) * 30_000;
	for (const nowMs of [at(-1), at(0), at(2) - 1]) assert.equal(stepOf(secret, '081804', nowMs), step);
	for (const nowMs of [at(-1) - 1, at(2)]) assert.equal(stepOf(secret, '081804', nowMs), undefined);
	assert.equal(stepOf(secret, '081805', at(0)), undefined);
});

test('a secret has 160 random bits in base32, and a link for apps', () => {
	const secret = newTotpSecret();
	assert.match(secret, /^[A-Z2-7]{32}$/);
	assert.notEqual(newTotpSecret(), secret);
	assert.equal(
		otpauthLink('ada+a@example.com', secret),
		`otpauth://totp/Caskade:ada%2Ba%40example.com?secret=${secret}&issuer=Caskade`,
	);
});

test('recovery codes are ten, and the same however they are typed', () => {
	const codes = newRecoveryCodes();
	assert.equal(new Set(codes).size, 10);
	const [code = ''] = codes;
	assert.match(code, /^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/);
	assert.equal(hashRecoveryCode(` ${code.toUpperCase().replaceAll('-', ' ')} `), hashRecoveryCode(code));
});
