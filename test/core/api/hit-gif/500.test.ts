import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startService } from '../../../support.ts';
import { askImage, assertImage } from './image.ts';

test('the image is sent even if the store fails', async (t) => {
	const service = await startService(t);
	const { id } = await service.store.control.account(service.aid);
	const file = join(service.folder, 'accounts', `${id}.sqlite`);
	renameSync(file, `${file}.away`);
	await assertImage(await askImage(service, `aid=${service.aid}`), 500);
	renameSync(`${file}.away`, file);
	await assertImage(await askImage(service, `aid=${service.aid}`), 200);
});
