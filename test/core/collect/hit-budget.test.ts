import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HitBudget } from '../../../src/core/collect/hit-budget.ts';

const limits = { perAddress: 0.1, perVisitor: 1 };

/** A budget of one hit in ten seconds for an address, and of ten at once for a visitor. */
function start() {
	const clock = { nowMs: 0 };
	const budget = new HitBudget(limits, () => clock.nowMs);
	return { clock, budget };
}

test('an address has a budget, which refills with time', () => {
	const { budget, clock } = start();
	assert.equal(budget.takeOfAddress('203.0.113.7'), 0);
	assert.equal(budget.takeOfAddress('203.0.113.7'), 10_000);
	assert.equal(budget.takeOfAddress('203.0.113.8'), 0);
	clock.nowMs += 9900;
	assert.equal(Math.round(budget.takeOfAddress('203.0.113.7')), 100);
	clock.nowMs += 101;
	assert.equal(budget.takeOfAddress('203.0.113.7'), 0);
});

test('an IPv6 /64 network has one budget', () => {
	for (const [one, other] of [
		['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff'],
		['2001:0DB8:0001:0002:0:0:0:1', '2001:db8:1:2::2'],
		['2001:db8::1', '2001:db8:0:0:1::'],
		['::1', '::2'],
		['fe80::1%eth0', 'fe80::2%eth0'],
	] as const) {
		const { budget } = start();
		assert.equal(budget.takeOfAddress(one), 0);
		assert.notEqual(budget.takeOfAddress(other), 0, `${one} ${other}`);
	}
	const { budget } = start();
	for (const address of ['2001:db8:1:2::1', '2001:db8:1:3::1', '2001:db8:1::1', '2001:db8::1:2:0:0', '::1'])
		assert.equal(budget.takeOfAddress(address), 0, address);
});

test('an IPv4-mapped address has its own budget', () => {
	const { budget } = start();
	assert.equal(budget.takeOfAddress('::ffff:203.0.113.7'), 0);
	assert.equal(budget.takeOfAddress('::ffff:203.0.113.8'), 0);
	assert.notEqual(budget.takeOfAddress('203.0.113.7'), 0);
});

test('everything that is not an address shares one budget', () => {
	const { budget } = start();
	assert.equal(budget.takeOfAddress(undefined), 0);
	for (const name of ['', 'unknown', '_hidden', ':::', '1', '203.0.113.07', 'x'.repeat(1000)])
		assert.notEqual(budget.takeOfAddress(name), 0, name);
});

test('IPv4 addresses translated into one IPv6 network have separate budgets', () => {
	const { budget } = start();
	assert.equal(budget.takeOfAddress('64:ff9b::203.0.113.7'), 0);
	assert.equal(budget.takeOfAddress('64:ff9b::203.0.113.8'), 0);
	assert.notEqual(budget.takeOfAddress('64:ff9b::cb00:7107'), 0);
});

test('a visitor has a budget for each account', () => {
	const { budget } = start();
	for (let count = 0; count < 10; count++) assert.equal(budget.takeOfVisitor('c-a-acme-uk', 'a'), 0);
	assert.equal(budget.takeOfVisitor('c-a-acme-uk', 'a'), 1000);
	assert.equal(budget.takeOfVisitor('c-a-acme-us', 'a'), 0);
	assert.equal(budget.takeOfVisitor('c-a-acme-uk', 'b'), 0);
});

test('of very many addresses, those seen least recently are given up, not the others', () => {
	const { budget, clock } = start();
	const numbered = (number: number) => `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
	const isKnown = (number: number) => budget.takeOfAddress(numbered(number)) > 0;
	for (let number = 0; number < 200_000; number++) {
		clock.nowMs += 0.01;
		budget.takeOfAddress(numbered(number));
	}
	let recent = 0;
	for (let number = 190_000; number < 200_000; number++) if (isKnown(number)) recent++;
	let old = 0;
	for (let number = 0; number < 10_000; number++) if (isKnown(number)) old++;
	assert.equal(recent, 10_000);
	assert.ok(old < 500, `${old} of 10,000`);
});
