import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FullDisk } from '../../src/store/full-disk.ts';

const noRoom = new Error('no room');

test('nothing is written as long as no error was found, nor once there is room again', async () => {
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

test('it fails until there is room', async () => {
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

test('an error that is found during a look is not forgotten', async () => {
	let looks = 0;
	const disk: FullDisk = new FullDisk(async () => {
		if (++looks === 1) disk.found();
	});
	disk.found();
	await disk.check();
	await disk.check();
	assert.equal(looks, 2);
});
