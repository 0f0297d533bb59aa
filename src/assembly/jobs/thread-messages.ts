import type { StorePlace } from '../../core/store/store.ts';
import type { EntranceSettings } from '../../kit/console/entrance.ts';
import type { BackgroundWork } from '../../kit/jobs/background-part.ts';

/** What the thread of the console starts with. */
export interface ConsoleData {
	readonly place: StorePlace;
	readonly entrance: EntranceSettings;
}

/** What the thread of background work starts with. */
export interface BackgroundData {
	readonly place: StorePlace;
	readonly work: BackgroundWork;
}

export type ToBackground =
	/** An account has profiles to fold. */
	| { readonly type: 'fold'; readonly accountId: number }
	/** For a capability. */
	| { readonly type: 'post'; readonly to: string; readonly message: unknown };

/** What metrics tell of it. */
export type FromBackground =
	| { readonly counted: string }
	| { readonly level: string; readonly amount: number };
