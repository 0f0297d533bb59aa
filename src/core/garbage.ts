import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** After this, what has just begun has done what it is awaited for. */
const delayMs = 1000;

let isDue = false;

/** Gives back what loading has left behind. V8 would do so by itself, after more than a minute of rest. */
export function collectGarbage(): void {
	if (!isDue) setTimeout(collect, delayMs).unref();
	isDue = true;
}

function collect(): void {
	isDue = false;
	// Flags are those of all threads, so one must not take it back while another needs it.
	setFlagsFromString('--expose-gc');
	// The young generation has shrunk with the rest, and grows again in few steps once there is work.
	setFlagsFromString('--semi-space-growth-factor=8');
	runInNewContext('gc')({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
