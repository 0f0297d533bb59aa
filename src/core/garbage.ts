import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Gives back what loading has left behind. V8 would do so by itself, after more than a minute of rest. */
export function collectGarbage(): void {
	// Flags are those of all threads, so one must not take it back while another needs it.
	setFlagsFromString('--expose-gc');
	// The young generation has shrunk with the rest, and grows again in few steps once there is work.
	setFlagsFromString('--semi-space-growth-factor=8');
	runInNewContext('gc')({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
