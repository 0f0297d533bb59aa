import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FullDisk } from '../../../src/core/store/full-disk.ts';

const noRoom = new Error('no room');

test('nothing is written unless an error was seen, nor once there is space again', async () => {
	let looks = 0;
	const disk = new FullDisk(async () => {
		looks++;
	});
	await disk.check();
	assert.equal(looks, 0);
	disk.found();
	await disk.check();
	await disk.check();
	assert.equal(looks, 1);
});

test('the check fails until there is space', async () => {
	let hasRoom = false;
	const disk = new FullDisk(async () => {
		if (!hasRoom) throw noRoom;
	});
	disk.found();
	await assert.rejects(disk.check(), noRoom);
	await assert.rejects(disk.check(), noRoom);
	hasRoom = true;
	await disk.check();
});

test('an error during a check is not lost', async () => {
	let looks = 0;
	const disk: FullDisk = new FullDisk(async () => {
		if (++looks === 1) disk.found();
	});
	disk.found();
	await disk.check();
	await disk.check();
	assert.equal(looks, 2);
});
