// The image's health check: GET /healthz of the server in this container, whether it ends TLS itself or not.
import http from 'node:http';
import https from 'node:https';
import process from 'node:process';

const port = process.env.CASKADE_PORT || 8080;

/** Whether the process answers is asked here, not who it is: its certificate is for the name that clients know. */
const options = { host: '127.0.0.1', port, path: '/healthz', timeout: 2000, rejectUnauthorized: false };

function isHealthy(protocol) {
	return new Promise((resolve) => {
		const request = protocol.get(options, (answer) => {
			answer.resume();
			resolve(answer.statusCode === 200);
		});
		request.on('timeout', () => request.destroy());
		request.on('error', () => resolve(false));
	});
}

// By asking, since flags may say what the environment does not.
process.exit((await isHealthy(http)) || (await isHealthy(https)) ? 0 : 1);
