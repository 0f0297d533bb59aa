import { type OpenOptions, openDatabases } from '../core/store/open.ts';
import type { OpenStore } from '../core/store/store.ts';
import { assemble } from '../kit/assembled.ts';
import { capabilities } from './capabilities.ts';

/** Opens the databases at a `--database` address, for everything that this Caskade can do. The parameters are those of `openDatabases`. */
export const openStore = (address: string, options: OpenOptions = {}): Promise<OpenStore> =>
	openDatabases(address, { ...options, capabilities });

assemble({
	reports: Object.assign({}, ...capabilities.map(({ reports }) => reports)),
	computeJobs: Object.assign({}, ...capabilities.map(({ jobs }) => jobs?.compute)),
	openStore,
});
