import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
	assertMisused,
	assertRefused,
	caskade,
	caskadeJson,
	emptyInstallation,
	withinASecond,
} from '../../../process.ts';
import { addClient, event, startService } from '../../../support.ts';

test('client disable blocks a client within a second on a running server; client enable unblocks it', async (t) => {
	const service = await startService(t);
	const at = ['--database', `sqlite:${service.folder}`];
	const other = await addClient(service.store, { client: 'other' });
	await service.server.directory.refresh();
	const upload = (headers = {}, aid = service.aid) => service.upload({ aid, data: [event()] }, headers);
	const read = (cask: string) => fetch(`${service.url}/visscores?cask=${cask}`);
	const { cask } = await service.hit();
	assert.equal((await upload()).status, 201);
	assert.equal((await read(cask)).status, 200);

	const disabled = (await caskadeJson(['client', 'disable', 'acme', ...at])) as { disabledAt: string };
	assert.deepEqual(
		{ ...disabled, createdAt: '' },
		{ client: 'acme', accounts: 1, keys: 1, createdAt: '', disabledAt: disabled.disabledAt },
	);
	await withinASecond('its key is refused', async () => (await upload()).status === 403);
	assert.equal(await (await upload()).text(), '{"message":"Forbidden","validationErrors":null}');
	assert.equal((await read(cask)).status, 403);
	assert.equal((await service.sendHit()).status, 400);
	assert.equal((await upload({ 'x-api-key': other.key }, other.aid)).status, 201, 'others go on');
	assert.match((await caskade(['doctor', ...at])).stdout, /keys: 1 usable/);

	await caskadeJson(['client', 'enable', 'acme', ...at]);
	await withinASecond('it is let in', async () => (await upload()).status === 201);
	assert.equal((await read(cask)).status, 200);
	assert.equal((await service.sendHit()).status, 200);
});

test('client list shows clients with their accounts and keys', async (t) => {
	const at = await emptyInstallation(t);
	assert.match(
		(await caskade(['client', 'list', ...at])).stdout,
		/^No clients yet\. 'caskade account create/,
	);
	await caskade(['account', 'create', 'c-a-x', '--client', 'x', ...at]);
	await caskade(['key', 'issue', '--client', 'x', ...at]);
	assert.match(
		(await caskade(['client', 'list', ...at])).stdout,
		/^client +accounts +keys +createdAt +disabledAt\nx +1 +1 +\S+Z +-\n$/,
	);
	assert.match(
		(await caskade(['client', 'disable', 'x', ...at])).stdout,
		/^client +x\n.*\ndisabledAt +\S+Z\n$/s,
	);
});

test('an unknown client is refused', async (t) => {
	const at = await emptyInstallation(t);
	assertRefused(await caskade(['client', 'disable', 'nobody', ...at]), /There is no client nobody/);
	assertMisused(await caskade(['client', 'disable', ...at]), /<name> is missing/);
});
