import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayMs } from '../../src/core/durations.ts';
import { isLive, may, type PersonRole, personRoles, rights } from '../../src/kit/person.ts';

test('each role may what those before it may, and one thing more', () => {
	for (const [index, role] of personRoles.entries())
		assert.deepEqual(
			rights.filter((right) => may({ grants: [{ aid: null, role }] }, 'c-a-x', right)),
			rights.slice(0, index + 1),
			role,
		);
});

test('a role on one account is none on another, and none on what belongs to no account', () => {
	const on = (aid: string, role: PersonRole) => ({ aid, role });
	const person = { grants: [on('c-a-x', 'operator'), on('c-a-y', 'viewer')] };
	assert.equal(may(person, 'c-a-x', 'operate'), true);
	assert.equal(may(person, 'c-a-y', 'aggregates'), true);
	assert.equal(may(person, 'c-a-y', 'visitors'), false);
	assert.equal(may(person, 'c-a-z', 'aggregates'), false);
	assert.equal(may(person, null, 'aggregates'), false);
	assert.equal(may({ grants: [] }, 'c-a-x', 'aggregates'), false);
});

test('of two roles on an account the greater holds', () => {
	const grants = [{ aid: null, role: 'operator' } as const, { aid: 'c-a-x', role: 'viewer' } as const];
	assert.equal(may({ grants }, 'c-a-x', 'operate'), true);
});

test('a session ends after thirty days, or seven without use', () => {
	const session = { createdAtMs: 0, usedAtMs: 25 * dayMs };
	assert.equal(isLive(session, 30 * dayMs - 1), true);
	assert.equal(isLive(session, 30 * dayMs), false);
	assert.equal(isLive({ createdAtMs: 0, usedAtMs: dayMs }, 8 * dayMs - 1), true);
	assert.equal(isLive({ createdAtMs: 0, usedAtMs: dayMs }, 8 * dayMs), false);
});
