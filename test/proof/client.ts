import { test } from 'node:test';
import { uploadAsStranger } from '../client/stranger.ts';
import { startService, temporaryFolder } from '../support.ts';

const uploads = Number(process.env.UPLOADS ?? 10_000);

/** `npm run proof:client` */
test(`${uploads} uploads through a proxy that spoils a fifth of the requests`, async (t) => {
	const service = await startService(t, { selfSigned: true });
	const beganMs = performance.now();
	const options = { folder: temporaryFolder(t), uploads, share: 0.2, seed: 1 };
	const result = await uploadAsStranger(t, service, options);
	console.log(
		JSON.stringify({ ...result, seconds: Math.round((performance.now() - beganMs) / 1000) }, null, 2),
	);
});
