import { test } from 'node:test';
import { temporaryFolder } from '../../support.ts';
import { checkServedWebhook } from './served.ts';

test('a server sends a webhook a hit and an upload, and logs no secret', (t) =>
	checkServedWebhook(`sqlite:${temporaryFolder(t)}`));
