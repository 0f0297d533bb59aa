import { existsSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { ServerOptions, ServerSettings } from '../src/assembly/serve.ts';
import type { ServingCapability } from '../src/core/api/serving-part.ts';
import { type RunningServer, serveStore } from '../src/core/serve-store.ts';
import { type OpenOptions, openDatabases } from '../src/core/store/open.ts';
import type { OpenStore } from '../src/core/store/store.ts';

/** All that Caskade can do; where the core lies alone, as in `test/proof/core-alone.test.ts`, that. */

interface Whole {
	openStore(address: string, options?: OpenOptions): Promise<OpenStore>;
	serve(settings: ServerSettings, options: ServerOptions): Promise<RunningServer>;
	/** What takes part in a server besides the core. */
	readonly serving: readonly ServingCapability[];
}

const coreAlone: Whole = {
	openStore: openDatabases,
	serving: [],
	async serve(settings, { log, onDeath, now, store }) {
		const opened = store ?? (await openDatabases(settings.database, { ...settings, serves: true }));
		return serveStore(settings, { log, onDeath, now, store: opened });
	},
};

const assembly = join(import.meta.dirname, '../src/assembly');
/** `.js` where the tests run on a package. */
const extension = extname(import.meta.filename);

export const { openStore, serve, serving }: Whole = existsSync(assembly)
	? {
			...(await import(join(assembly, `open-store${extension}`))),
			...(await import(join(assembly, `serve${extension}`))),
		}
	: coreAlone;
