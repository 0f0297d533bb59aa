import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Of the cores, while servers that nobody asks wait. */
const maxBusyShare = 0.1;
/** Of the time that was wanted, while they work: time that the machine's host gave to others. */
const maxStolenShare = 0.03;
/** Servers that have just started are busy with themselves for a second or two. */
const windowMs = 250;
const maxWindows = 24;

/** Tells whether others use the machine, in the pauses between measurements, and by what its host takes during them. */
export class Busyness {
	#worstBusyShare = 0;
	#worstStolenShare = 0;
	#before = readTicks();

	/** Waits until the cores are quiet, for at most six seconds in which nothing of a benchmark runs. */
	async observeIdle(): Promise<void> {
		let quietest = 1;
		for (let window = 0; window < maxWindows && quietest > maxBusyShare / 2; window++) {
			const before = readTicks();
			await sleep(windowMs);
			const after = readTicks();
			quietest = Math.min(quietest, (after.busy - before.busy) / Math.max(1, after.all - before.all));
		}
		this.#worstBusyShare = Math.max(this.#worstBusyShare, quietest);
		this.#before = readTicks();
	}

	/** Looks at what has happened since `observeIdle`. */
	observeWork(): void {
		const after = readTicks();
		const wanted = after.busy + after.stolen - this.#before.busy - this.#before.stolen;
		this.#worstStolenShare = Math.max(
			this.#worstStolenShare,
			(after.stolen - this.#before.stolen) / Math.max(1, wanted),
		);
	}

	/** Why nothing can be judged, if so. */
	problem(): string | undefined {
		const percent = (share: number) => `${(share * 100).toFixed(0)} %`;
		if (this.#worstBusyShare > maxBusyShare)
			return `other programs used ${percent(this.#worstBusyShare)} of the cores while the servers waited`;
		if (this.#worstStolenShare > maxStolenShare)
			return `the machine's host kept ${percent(this.#worstStolenShare)} of the time that was wanted`;
		return undefined;
	}
}

interface Ticks {
	readonly all: number;
	readonly busy: number;
	readonly stolen: number;
}

function readTicks(): Ticks {
	const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
	const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, stolen = 0] = line
		.trim()
		.split(/\s+/)
		.slice(1)
		.map(Number);
	const busy = user + nice + system + irq + softirq;
	return { all: busy + idle + iowait + stolen, busy, stolen };
}
