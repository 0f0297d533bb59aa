import type { AccessDirectory } from '../../core/access/directory.ts';
import type { OpenStore } from '../../core/store/store.ts';
import type { ConsolePart } from '../../kit/capability-declaration.ts';
import type { EntranceSettings } from '../../kit/console/entrance.ts';
import type { ComputeInBackground } from '../../kit/console/page.ts';

export interface ConsoleOptions extends EntranceSettings {
	readonly store: OpenStore;
	readonly directory: AccessDirectory;
	/** What capabilities add. */
	readonly parts: readonly ConsolePart[];
	readonly compute: ComputeInBackground;
	readonly now: () => number;
	readonly monotonicMs: () => number;
	/** Something failed that is no fault of the request. */
	readonly onError: (error: unknown, path: string) => void;
	/** A page that is not ready by then says so, and is asked for again. */
	readonly waitMs?: number;
}
