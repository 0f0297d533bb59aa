import { mayHaveChanged } from './shown.ts';
import type { Score, Segment, Vscr } from './vscr.ts';

export type { Commands, HitEvent, Score, Segment, Vscr } from './vscr.ts';

/** Where the tag comes from, and whom it is for. */
export interface TagOptions {
	/** The service's address, for example https://collect.example. */
	readonly server: string;
	/** The account, for example c-a-acme-uk. */
	readonly account: string;
	/** The path of the script on that service. Default: `/tag.js`, the current tag. */
	readonly path?: string | undefined;
}

let giveUp: (nothing: never[]) => void;
/** Where the script cannot be loaded, for example because a browser's extension refuses it. */
const failed = new Promise<never[]>((resolve) => {
	giveUp = resolve;
});
let isLoading = false;

/** Gives the tag a command. It waits until the script is loaded. Where there is no browser, it does nothing. */
export const vscr = ((...command: [never]) => {
	if (typeof window === 'undefined') return;
	const q: ArrayLike<unknown>[] = [];
	window.vscr ??= Object.assign((...queued: unknown[]) => void q.push(queued), { q }) as Vscr;
	window.vscr(...command);
	mayHaveChanged(command[0]);
}) as Vscr;

/** Loads the tag, once, for an account. Nothing is sent before `vscr('fire')`. Where there is no browser, it does nothing. */
export function loadTag({ server, account, path = '/tag.js' }: TagOptions): void {
	if (typeof document === 'undefined') return;
	vscr('setAccount', account);
	if (isLoading) return;
	isLoading = true;
	const script = document.createElement('script');
	script.async = true;
	script.onerror = () => giveUp([]);
	try {
		script.src = server.replace(/\/+$/, '') + path;
		document.head.append(script);
	} catch {
		// The page allows trusted types alone, and has no default policy: the browser says so.
		giveUp([]);
	}
}

/** Where there is no browser, nothing is ever known. */
const listOf = <Entry>(name: 'scores' | 'segments'): Promise<readonly Entry[]> =>
	typeof window === 'undefined'
		? Promise.resolve([])
		: Promise.race([failed, new Promise<Entry[]>((resolve) => vscr(name, resolve as never))]);

/** The visitor's scores, once they are known after the first `fire`; empty on any error. */
export function scores(): Promise<readonly Score[]> {
	return listOf('scores');
}

/** The visitor's segments, likewise. */
export function segments(): Promise<readonly Segment[]> {
	return listOf('segments');
}
