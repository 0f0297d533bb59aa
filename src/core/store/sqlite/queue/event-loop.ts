import { setImmediate as nextTurn } from 'node:timers/promises';

/** Statements are synchronous, so a loop over them would keep the event loop from all else, timers and sockets too. */
const maxTurnMs = 50;

let turnBeganMs = performance.now();

/** Lets others run if nobody else has for some time. Costs nothing where statements are few and short. */
export async function letOthersRun(): Promise<void> {
	if (performance.now() - turnBeganMs < maxTurnMs) return;
	await nextTurn();
	turnBeganMs = performance.now();
}
