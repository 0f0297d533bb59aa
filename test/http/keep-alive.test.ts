import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { startService } from '../support.ts';

test('a connection without a request is closed after the time that is set', async (t) => {
	const { url } = await startService(t, { keepAliveMs: 1000 });
	const socket = connect(Number(new URL(url).port), '127.0.0.1');
	t.after(() => socket.destroy());
	socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
	await once(socket, 'data');
	const beganMs = performance.now();
	socket.resume();
	await once(socket, 'end');
	assert.ok(performance.now() - beganMs >= 900, 'not before');
});
