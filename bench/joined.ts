import type { Line } from './line.ts';
import { MetricsSample } from './metrics.ts';
import type { LineName } from './options.ts';
import { overBare } from './over-bare.ts';
import { maxLogged } from './place.ts';
import { manyRows } from './rows.ts';
import { upload } from './servers.ts';
import { whole } from './table.ts';
import { type Load, uploads } from './wrk.ts';

/** Large uploads of which every event is of a customer who has been on a page, and so becomes part of a profile. */
const joined = (name: LineName, engine: 'SQLite' | 'PostgreSQL'): Line =>
	overBare(name, engine, (bench) => ({
		parse: true,
		counts: engine === 'SQLite' ? bench.options.visitorCounts : [bench.options.pgVisitors],
		async prepare(server, { place, visitors }) {
			const { key } = engine === 'SQLite' ? bench.caskade : (await bench.onPostgres()).caskade;
			const customers = Math.min(visitors, maxLogged);
			const load: Load = { rows: manyRows, key, tids: 'rising', customers };
			const eventsBefore = await place.countEvents();
			const sample = await upload(server.url, key, manyRows);
			return {
				mixes: [
					{ title: `${manyRows} new events a request, all joined`, script: () => uploads(load), sample },
				],
				async finish() {
					const counted = (await MetricsSample.read(server.metricsUrl)).eventsStored;
					const [events, joinedEvents] = [await place.countEvents(), await place.countJoined()];
					// The first upload is of customers who have never shown their cid.
					if (events - eventsBefore !== counted || joinedEvents < events - 2 * manyRows)
						throw new Error(
							`${name}: ${events - eventsBefore} events are in the database, ${joinedEvents} of them joined; ${counted} were counted.`,
						);
					return {
						rows: [],
						notes: [
							`${name}, ${whole(visitors)} visitors: ${whole(events)} events are in the database, ${whole(joinedEvents)} of them joined.`,
						],
					};
				},
			};
		},
	}));

export const joinedLine = joined('joined-uploads', 'SQLite');
export const pgJoinedLine = joined('pg-joined-uploads', 'PostgreSQL');
