import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { countVisitors } from '../../../../src/core/store/account/reading/visitors.ts';
import { eventually } from '../../../eventually.ts';
import { caskadeProcess } from '../../../process.ts';
import { startService, temporaryFolder } from '../../../support.ts';

const ours = { 'x-forwarded-for': '203.0.113.9' };
const theirs = { 'x-forwarded-for': '198.51.100.7' };

test('a hit from a listed network is answered but not stored, and changes of the file take effect', async (t) => {
	const file = join(temporaryFolder(t), 'networks.txt');
	writeFileSync(file, '# our offices\n203.0.113.0/24\n');
	const service = await startService(t, { ignoreNetworks: file, behindProxy: 1, hitPath: '/basket' });
	const storedOf = async (headers: Record<string, string>) => {
		const answer = await service.sendHit({}, headers);
		assert.equal(answer.status, 200);
		assert.match(((await answer.json()) as { vid: string }).vid, /^[0-9a-f]{32}$/);
		return answer.headers.get('x-hit-stored');
	};
	assert.equal(await storedOf(ours), '0');
	assert.equal(await storedOf(theirs), '1');
	const image = await fetch(`${service.url}/basket.gif?aid=${service.aid}`, { headers: ours });
	assert.equal(image.headers.get('x-hit-stored'), '0');
	const { id } = await service.store.control.account(service.aid);
	assert.equal(await service.store.read(id, countVisitors()), 1);

	writeFileSync(file, '198.51.100.0/24\n');
	await eventually('the file is read anew', async () => (await storedOf(theirs)) === '0', 2000);
	assert.equal(await storedOf(ours), '1');
	writeFileSync(file, 'nonsense, longer than before\n');
	await eventually(
		'it is said',
		() => service.logged.some((line) => line.includes('line 1 is not a network')),
		2000,
	);
	assert.equal(await storedOf(theirs), '0');
	assert.doesNotMatch(service.logged.join(), /203\.0\.113|198\.51\.100/);
});

test('an invalid file prevents the start', async (t) => {
	const folder = temporaryFolder(t);
	const file = join(folder, 'networks.txt');
	writeFileSync(file, '10.0.0.0/8\n10.0.0.0/99\n');
	const serve = (path: string) =>
		caskadeProcess([
			'serve',
			'--port',
			'0',
			'--database',
			`sqlite:${folder}/data`,
			'--ignore-networks',
			path,
		]);
	const { code, stderr } = await serve(file);
	assert.equal(code, 1);
	assert.match(stderr, /--ignore-networks .* cannot be used: line 2 is not a network/);
});

test("hits to a path of the site's choice are stored", async (t) => {
	const service = await startService(t, { hitPath: '/basket' });
	const answer = await fetch(`${service.url}/basket`, {
		method: 'POST',
		headers: { 'content-type': 'text/plain', 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' },
		body: JSON.stringify({ aid: service.aid }),
	});
	assert.equal(answer.status, 200);
	assert.equal(answer.headers.get('x-hit-stored'), '1');
	assert.equal((await fetch(`${service.url}/basket`, { method: 'OPTIONS' })).status, 204);
	assert.equal((await fetch(`${service.url}/basket`)).status, 405);
});
